#include "analyze/report/report.h"

#include <algorithm>
#include <map>

#include "base/clock_map.h"
#include "base/iteration_name.h"
#include "base/printable.h"
#include "base/quantile.h"
#include "base/text.h"

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
  report.median_ns = base::round_ns(base::quantile_of_sorted(lengths, 0.5));
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
      const trace::EventClass* const known = track.writer->find_class(operation.class_id);
      const std::string name =
          known != nullptr ? base::without_iteration_number(trace::shown_name(*known)) : std::string();
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

// ---- What would save the most time, from the numbers of a report
// -----------------------------------------------------

// At most three, the largest saving first. A finding below one percent of the window is left out.
constexpr size_t kMost = 3, kRows = 3, kWidestName = 100;
constexpr double kSmallestShare = 0.01;

std::string percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? "0 %" : base::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string ms(uint64_t ns) { return base::format("{:.3f} ms", static_cast<double>(ns) / 1e6); }

// The argument of a command that takes a pattern. The rows of iterations stand for several names. A name that is too
// long for a command line is its two ends.
std::string pattern(const std::string& name) {
  if (base::display_width(name) > kWidestName) return base::shell_quoted(base::shorten_middle(name, kWidestName, "*"));
  if (name.ends_with("{}") && base::names_iteration(name))
    return base::shell_quoted(name.substr(0, name.size() - 2) + "*");
  return base::shell_quoted(name);
}

std::string times(uint64_t count) { return count == 1 ? "once" : base::format("{} times", count); }

class Search {
 public:
  explicit Search(const Report& report) : report_(report) {}

  std::vector<Finding> find() {
    if (!report_.devices.empty()) {
      const DeviceReport& device = report_.devices.front();
      late_launches(device);
      exposed(device, device.time.exposed_copies_ns, WorkKind::Copy,
              "Copies run while the device computes nothing. Overlap them with kernels, or avoid them");
      exposed(device, device.time.exposed_communication_ns, WorkKind::Communication,
              "Communication runs while the device computes nothing. Overlap it with computation");
      latency(device);
      largest_kernel(device);
    } else {
      largest_name();
      outside();
    }
    uneven_iterations();
    std::erase_if(found_, [&](const Finding& one) {
      return one.saves_ns == 0 ||
             static_cast<double>(one.saves_ns) < kSmallestShare * static_cast<double>(report_.window_ns);
    });
    std::stable_sort(found_.begin(), found_.end(),
                     [](const Finding& a, const Finding& b) { return a.saves_ns > b.saves_ns; });
    if (found_.size() > kMost) found_.resize(kMost);
    return std::move(found_);
  }

 private:
  void late_launches(const DeviceReport& device) {
    Finding one;
    one.saves_ns = device.time.idle_ns[static_cast<size_t>(IdleCause::LateLaunch)];
    one.text = base::format("{} waits for the host to launch work: {} of the time", device.name,
                            percent(one.saves_ns, report_.window_ns));
    for (size_t i = 0; i < std::min(kRows, device.during_late.size()); ++i) {
      const HostRow& row = device.during_late[i];
      one.evidence.push_back(base::format("meanwhile {} in {} ({})", ms(row.self_ns), row.name, times(row.count)));
    }
    if (device.during_late_outside_ns > 0)
      one.evidence.push_back(base::format("meanwhile {} outside of any range", ms(device.during_late_outside_ns)));
    one.command =
        device.during_late.empty() ? "kymo timeline FILE" : "kymo hist FILE " + pattern(device.during_late[0].name);
    found_.push_back(std::move(one));
  }

  void exposed(const DeviceReport& device, uint64_t ns, WorkKind kind, std::string_view advice) {
    Finding one;
    one.saves_ns = ns;
    one.text = base::format("{}: {} of the time", advice, percent(ns, report_.window_ns));
    rows(device, kind, one);
    found_.push_back(std::move(one));
  }

  void latency(const DeviceReport& device) {
    Finding one;
    one.saves_ns = device.time.idle_ns[static_cast<size_t>(IdleCause::LaunchLatency)];
    const uint64_t count = device.time.operations;
    if (count == 0) return;
    one.text = base::format(
        "Many short operations: {} is lost between their launches and their starts. Fuse them, or "
        "launch them as a graph",
        percent(one.saves_ns, report_.window_ns));
    one.evidence.push_back(
        base::format("{} operations, {} of launch latency each on average", count, ms(one.saves_ns / count)));
    one.command = "kymo stats FILE --sort count";
    found_.push_back(std::move(one));
  }

  // A kernel that takes a large share could at most disappear.
  void largest_kernel(const DeviceReport& device) {
    const auto largest = std::find_if(device.operations.begin(), device.operations.end(),
                                      [](const OperationRow& row) { return row.kind == WorkKind::Compute; });
    if (largest == device.operations.end()) return;
    Finding one;
    one.saves_ns = std::min(largest->total_ns / 2, device.time.compute_ns);
    one.text = base::format(
        "The kernel that takes the most time has {} of the time. Twice as fast, it would save half "
        "of that",
        percent(largest->total_ns, report_.window_ns));
    rows(device, WorkKind::Compute, one);
    one.command = "kymo hist FILE " + pattern(largest->name);
    found_.push_back(std::move(one));
  }

  void largest_name() {
    if (report_.host.rows.empty()) return;
    Finding one;
    const HostRow& largest = report_.host.rows.front();
    one.saves_ns = largest.self_ns / 2;
    one.text = base::format("\"{}\" takes {} of the time itself. Twice as fast, it would save half of that",
                            largest.name, percent(largest.self_ns, report_.window_ns));
    for (size_t i = 0; i < std::min(kRows, report_.host.rows.size()); ++i) {
      const HostRow& row = report_.host.rows[i];
      one.evidence.push_back(base::format("{} of self time in {} ({}, longest {})", ms(row.self_ns), row.name,
                                          times(row.count), ms(row.longest_ns)));
    }
    one.command = "kymo hist FILE " + pattern(largest.name);
    found_.push_back(std::move(one));
  }

  void outside() {
    Finding one;
    one.saves_ns = report_.host.outside_ns / 2;
    one.text = base::format(
        "{} of the time of {} is outside of any range: {}", percent(report_.host.outside_ns, report_.window_ns),
        report_.main_thread,
        report_.has_samples ? "its samples show which functions ran" : "annotate more of the program to see it");
    one.evidence.push_back(
        base::format("{} of {} are not inside a range", ms(report_.host.outside_ns), ms(report_.window_ns)));
    one.command = report_.has_samples ? "kymo stats FILE --by function" : "kymo timeline FILE";
    found_.push_back(std::move(one));
  }

  void uneven_iterations() {
    if (report_.iterations.list.size() < 3) return;
    const uint64_t even = report_.median_ns * report_.iterations.list.size();
    Finding one;
    one.saves_ns = report_.window_ns > even ? report_.window_ns - even : 0;
    one.text =
        base::format("Some iterations take longer than most: with the median time in all of them, {} would be saved",
                     percent(one.saves_ns, report_.window_ns));
    const Interval& slowest = report_.iterations.list[report_.longest_iteration];
    one.evidence.push_back(base::format(
        "median {}, longest {}: number {}, {} after the first event", ms(report_.median_ns), ms(report_.longest_ns),
        report_.longest_iteration, ms(static_cast<uint64_t>(std::max<int64_t>(slowest.begin - report_.first_ns, 0)))));
    one.command = base::format("kymo timeline FILE --from {}us --to {}us",
                               std::max<int64_t>(slowest.begin - report_.first_ns, 0) / 1000,
                               std::max<int64_t>(slowest.end - report_.first_ns, 0) / 1000);
    found_.push_back(std::move(one));
  }

  void rows(const DeviceReport& device, WorkKind kind, Finding& to) {
    size_t left = kRows;
    for (const OperationRow& row : device.operations) {
      if (row.kind != kind || left == 0) continue;
      --left;
      to.evidence.push_back(
          base::format("{} in {} ({}, longest {})", ms(row.total_ns), row.name, times(row.count), ms(row.longest_ns)));
    }
    to.command = "kymo stats FILE --by thread";
  }

  const Report& report_;
  std::vector<Finding> found_;
};

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
  report.findings = Search(report).find();
  report.problems = walk.problems();
  return report;
}

}  // namespace kymo::analyze
