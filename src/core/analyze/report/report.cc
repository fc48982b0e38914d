#include "analyze/report/report.h"

#include <algorithm>
#include <map>

#include "analyze/report/findings.h"
#include "base/iteration_name.h"

namespace kymo::analyze {
namespace {

constexpr size_t kPartsByName = 12;

void measure_iterations(Report& report) {
  std::vector<uint64_t> lengths;
  for (const Interval& one : report.iterations.list)
    lengths.push_back(static_cast<uint64_t>(std::max<int64_t>(one.end - one.begin, 0)));
  if (lengths.empty()) return;
  report.longest_iteration = report.iterations.longest();
  std::sort(lengths.begin(), lengths.end());
  report.shortest_ns = lengths.front();
  report.longest_ns = lengths.back();
  report.median_ns = lengths[(lengths.size() - 1) / 2];
}

std::vector<OperationRow> operation_rows(const EventWalk& walk, const Device& device, const Intervals& window) {
  std::map<std::string, OperationRow> rows;
  std::map<std::pair<uint32_t, uint32_t>, OperationRow*> by_class;  // by writer and class
  for (const DeviceOperation& operation : device.operations) {
    if (operation.kind == WorkKind::Wait) continue;
    const uint64_t part = window.covered(operation.begin, operation.end);
    if (part == 0) continue;
    const TrackOfTrace& track = walk.tracks()[operation.track];
    OperationRow*& row = by_class[{track.writer_number, operation.class_id}];
    if (row == nullptr) {
      const auto known = track.writer->classes.find(operation.class_id);
      const std::string name = known != track.writer->classes.end()
                                   ? base::without_iteration_number(trace::shown_name(known->second))
                                   : std::string();
      row = &rows[name];
      row->name = name;
    }
    row->kind = operation.kind;
    row->count += 1;
    row->total_ns += part;
    row->longest_ns = std::max(row->longest_ns, static_cast<uint64_t>(operation.end - operation.begin));
  }
  std::vector<OperationRow> all;
  for (auto& [name, row] : rows) all.push_back(std::move(row));
  std::stable_sort(all.begin(), all.end(),
                   [](const OperationRow& a, const OperationRow& b) { return a.total_ns > b.total_ns; });
  return all;
}

void add_parts_of_device(Report& report, const DeviceTime& time) {
  const auto add = [&](std::string name, uint64_t ns) {
    if (ns > 0) report.parts.push_back({std::move(name), ns});
  };
  add("device computes", time.compute_ns);
  add("communication that no computation hides", time.exposed_communication_ns);
  add("copies that nothing hides", time.exposed_copies_ns);
  for (size_t cause = 0; cause < kIdleCauses; ++cause)
    add("device idle: " + std::string(text_of(static_cast<IdleCause>(cause))), time.idle_ns[cause]);
}

void add_parts_of_host(Report& report) {
  uint64_t rest = 0;
  for (size_t i = 0; i < report.host.rows.size(); ++i) {
    const HostRow& row = report.host.rows[i];
    if (i < kPartsByName)
      report.parts.push_back({row.name.empty() ? "(no name)" : row.name, row.self_ns});
    else
      rest += row.self_ns;
  }
  if (rest > 0) report.parts.push_back({"other ranges", rest});
  if (report.host.outside_ns > 0) report.parts.push_back({"outside of any range", report.host.outside_ns});
}

// Merges the rows of several threads.
void merge(std::vector<HostRow>& into, const std::vector<HostRow>& rows) {
  for (const HostRow& row : rows) {
    const auto same = std::find_if(into.begin(), into.end(), [&](const HostRow& one) {
      return one.name == row.name && one.category == row.category;
    });
    if (same == into.end()) {
      into.push_back(row);
    } else {
      same->self_ns += row.self_ns;
      same->total_ns += row.total_ns;
      same->count += row.count;
      same->longest_ns = std::max(same->longest_ns, row.longest_ns);
    }
  }
  std::stable_sort(into.begin(), into.end(), [](const HostRow& a, const HostRow& b) { return a.self_ns > b.self_ns; });
}

}  // namespace

Report make_report(const trace::Reader& reader) {
  Report report;
  EventWalk walk(reader);
  report.first_ns = walk.first_ns();
  report.last_ns = walk.last_ns();
  const DeviceWork work = read_device_work(walk);
  report.iterations = find_iterations(walk, launching_track(work));
  measure_iterations(report);
  const Intervals window = report.iterations.window();
  report.window_ns = window.length();

  report.device_operations_left_out = work.left_out;
  for (const Device& device : work.devices) {
    DeviceReport& made = report.devices.emplace_back();
    made.name = device.name;
    made.time = device_time(walk, work, device, window);
    made.operations = operation_rows(walk, device, window);
  }
  std::stable_sort(report.devices.begin(), report.devices.end(), [](const DeviceReport& a, const DeviceReport& b) {
    return a.time.idle_total_ns() < b.time.idle_total_ns();
  });

  // The host: the main thread over the window.
  const uint32_t main_track = report.iterations.track.value_or(UINT32_MAX);
  if (main_track < walk.tracks().size()) {
    report.main_thread = walk.tracks()[main_track].name();
    report.host = host_time(walk, {{main_track, window}}, main_track, &report.shapes)[main_track];
  }
  for (DeviceReport& device : report.devices) {
    std::map<uint32_t, Intervals> late;
    for (auto& [track, intervals] : device.time.late) late.emplace(track, Intervals(intervals));
    if (late.empty()) continue;
    for (const auto& [track, time] : host_time(walk, late)) {
      merge(device.during_late, time.rows);
      device.during_late_outside_ns += time.outside_ns;
    }
  }
  if (!report.devices.empty()) {
    report.main_device = report.devices.front().name;
    add_parts_of_device(report, report.devices.front().time);
  } else {
    add_parts_of_host(report);
  }
  report.clocks = clock_rates(walk, window);
  for (const auto& [id, writer] : reader.writers())
    for (const auto& [number, one] : writer.classes)
      report.has_samples |= one.category == "cpu" && one.name == "sample";
  report.findings = find_findings(report);
  report.problems = walk.problems();
  return report;
}

}  // namespace kymo::analyze
