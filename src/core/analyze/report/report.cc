#include "analyze/report/report.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <unordered_map>
#include <utility>

#include "analyze/operation_name.h"
#include "analyze/report/findings.h"
#include "analyze/report/known_names.h"
#include "base/clock_map.h"
#include "base/quantile.h"
#include "base/text.h"

namespace kymo::analyze {
namespace {

constexpr size_t kPartsByName = 12;
constexpr uint64_t kSlowFactor = 10, kSlowGap = 100'000, kManyGaps = 10;

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

// The name of a class as rows have it.
std::string name_of(const EventWalk& walk, uint32_t track, uint32_t class_id) {
  const trace::EventClass* const known = walk.tracks()[track].writer->find_class(class_id);
  return known != nullptr ? operation_name(*known) : std::string();
}

std::vector<OperationRow> operation_rows(const EventWalk& walk, const Device& device, const Intervals& window) {
  std::map<std::string, OperationRow> rows;
  std::map<std::pair<uint32_t, uint32_t>, OperationRow*> by_class;  // by writer and class
  for (const DeviceOperation& operation : device.operations) {
    if (operation.kind == WorkKind::Wait) continue;
    const uint64_t part = window.covered(operation.begin, operation.end);
    if (part == 0) continue;
    OperationRow*& row = by_class[{walk.tracks()[operation.track].writer_number, operation.class_id}];
    if (row == nullptr) {
      const std::string name = name_of(walk, operation.track, operation.class_id);
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
  std::ranges::stable_sort(all, std::ranges::greater(), &OperationRow::total_ns);
  return all;
}

void add_parts_of_device(Report& report, const DeviceTime& time) {
  const auto add = [&](std::string name, uint64_t ns) {
    if (ns > 0) report.parts.push_back({std::move(name), ns});
  };
  add("device computes", time.compute_ns);
  add("communication that no computation hides", time.exposed_communication_ns - time.exposed_waiting_ns);
  add("waiting for other ranks", time.exposed_waiting_ns);
  add("copies that nothing hides", time.exposed_copies_ns);
  for (size_t cause = 0; cause < kIdleCauses; ++cause)
    add("device idle: " + std::string(text_of(static_cast<IdleCause>(cause))), time.idle_ns[cause]);
  add(kProfilingPart, time.profiling_ns);
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
  if (report.host.profiling_ns > 0) report.parts.push_back({kProfilingPart, report.host.profiling_ns});
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
  std::ranges::stable_sort(into, std::ranges::greater(), &HostRow::self_ns);
}

// What is known of one device, from its gaps.
class DeviceAnalysis {
 public:
  DeviceAnalysis(const EventWalk& walk, const DeviceWork& work, uint32_t number, const Intervals& window,
                 const ProfilerTimes& profiler)
      : walk_(walk), work_(work), device_(work.devices[number]), window_(window) {
    made_.number = number;
    made_.name = device_.name;
    made_.rank = device_.rank;
    made_.time = device_time(work, device_, window, profiler);
    made_.operations = operation_rows(walk, device_, window);
    find_largest_alone();
  }

  // What the threads of the host did during the gaps: by track, when to look.
  void add_host_times(uint32_t main_track, std::map<uint32_t, Intervals>& late, Intervals& nothing) const {
    std::map<uint32_t, std::vector<Interval>> by_track;
    std::vector<Interval> at_end;
    for (const IdleGap& gap : made_.time.gaps) {
      if (gap.cause == IdleCause::LateLaunch) by_track[gap.track].push_back(gap.interval());
      if (gap.cause == IdleCause::NothingLeft && main_track < walk_.tracks().size()) at_end.push_back(gap.interval());
    }
    for (auto& [track, times] : by_track) late.emplace(track, Intervals(std::move(times)));
    nothing = Intervals(std::move(at_end));
  }

  void add_arrivals(const Arrivals& arrivals) {
    const auto waiting = arrivals.waiting.find(made_.number);
    if (waiting == arrivals.waiting.end()) return;
    const Intervals compute = times_of(device_, WorkKind::Compute);
    made_.time.exposed_waiting_ns = intersection(difference(waiting->second, compute), window_).length();
    for (const RankArrivals& rank : arrivals.ranks) {
      if (rank.device != made_.number) continue;
      made_.awaited_compute_ns = intersection(rank.awaited, compute).length();
      const Intervals busy =
          united(united(compute, times_of(device_, WorkKind::Communication)), times_of(device_, WorkKind::Copy));
      made_.awaited_idle_ns = difference(rank.awaited, busy).length();
    }
  }

  DeviceReport& finish() {
    std::array<std::vector<uint64_t>, kIdleCauses> lengths;
    std::array<const IdleGap*, kIdleCauses> longest{};
    for (const IdleGap& gap : made_.time.gaps) {
      const auto cause = static_cast<size_t>(gap.cause);
      lengths[cause].push_back(gap.ns);
      if (longest[cause] == nullptr || gap.ns > longest[cause]->ns) longest[cause] = &gap;
    }
    for (size_t cause = 0; cause < kIdleCauses; ++cause)
      if (longest[cause] != nullptr) summarise(lengths[cause], *longest[cause], made_.gaps[cause]);
    made_.time.gaps = {};
    return made_;
  }

 private:
  const Launch* launch_of(const IdleGap& gap) const {
    return gap.next == kNone ? nullptr : work_.launch_of(device_.operations[gap.next]);
  }

  void summarise(std::vector<uint64_t>& lengths, const IdleGap& longest, GapSummary& gaps) const {
    std::sort(lengths.begin(), lengths.end());
    gaps.count = lengths.size();
    gaps.median_ns = lengths[lengths.size() / 2];
    for (const uint64_t ns : lengths) {
      gaps.ns += ns;
      if (ns < kSlowGap || (lengths.size() >= kManyGaps && ns / kSlowFactor < gaps.median_ns)) continue;
      gaps.slow += 1;
      gaps.slow_ns += ns;
    }
    gaps.longest_ns = longest.ns;
    gaps.longest_begin = longest.begin;
    if (longest.next == kNone) return;
    const DeviceOperation& next = device_.operations[longest.next];
    gaps.next = name_of(walk_, next.track, next.class_id);
    gaps.is_first_run = std::none_of(
        device_.operations.begin(), device_.operations.begin() + longest.next,
        [&](const DeviceOperation& one) { return one.class_id == next.class_id && one.track == next.track; });
    if (const Launch* const launch = launch_of(longest)) {
      gaps.launch = name_of(walk_, launch->track, launch->class_id);
      gaps.launch_begin = launch->begin;
      gaps.launch_end = launch->end;
    }
  }

  void find_largest_alone() {
    const auto largest = std::find_if(made_.operations.begin(), made_.operations.end(),
                                      [](const OperationRow& row) { return row.kind == WorkKind::Compute; });
    if (largest == made_.operations.end()) return;
    std::vector<Interval> own, others;
    std::unordered_map<uint64_t, bool> is_own;  // by track and class
    uint64_t last = UINT64_MAX;
    bool last_is_own = false;
    for (const DeviceOperation& operation : device_.operations) {
      if (operation.kind == WorkKind::Wait) continue;
      if (const uint64_t key = uint64_t{operation.track} << 32 | operation.class_id; key != last) {
        const auto [entry, is_new] = is_own.try_emplace(last = key);
        if (is_new) entry->second = name_of(walk_, operation.track, operation.class_id) == largest->name;
        last_is_own = entry->second;
      }
      (last_is_own ? own : others).push_back({operation.begin, operation.end});
    }
    made_.largest_alone_ns =
        intersection(difference(Intervals(std::move(own)), Intervals(std::move(others))), window_).length();
  }

  const EventWalk& walk_;
  const DeviceWork& work_;
  const Device& device_;
  const Intervals& window_;
  DeviceReport made_;
};

// The times of the main thread in a state.
Intervals times_in(const ThreadStates& thread, ThreadState state, const Intervals& window) {
  std::vector<Interval> times;
  for (const StateSpan& span : thread.spans)
    if (span.state == state) times.push_back({span.begin, span.end});
  return intersection(Intervals(std::move(times)), window);
}

// The ranges of the main thread that wait: by their names, because the thread waits for more than half of their time,
// or, if that is not known, because they have samples for less than half of it.
HostWait find_wait(EventWalk& walk, const HostTime& host, const OneThread& main, const Intervals& window,
                   const SampledFunctions* functions) {
  HostWait wait;
  const bool are_states_known = !main.running.empty() || !main.waiting.empty();
  const uint32_t main_track = main.track;
  const auto used = [&](const HostRow& row) -> std::optional<uint64_t> {
    if (are_states_known) return row.running_ns;
    if (functions == nullptr || functions->cpu_by_range.empty()) return std::nullopt;
    const auto found = functions->cpu_by_range.find(row.name);
    return found == functions->cpu_by_range.end() ? 0 : found->second;
  };
  for (const HostRow& row : host.rows) {
    const auto cpu_ns = used(row);
    const bool does_wait =
        are_states_known ? row.waiting_ns > row.self_ns / 2 : cpu_ns.has_value() && *cpu_ns < row.self_ns / 2;
    if (!is_wait(row.name) && !does_wait) continue;
    wait.all.push_back(row.name);
    if (wait.all.size() > 1) continue;
    wait.name = row.name;
    wait.cpu_ns = cpu_ns;
    wait.is_cpu_at_most = !are_states_known;
  }
  if (wait.name.empty()) return wait;

  std::vector<Interval> waits;
  walk.each(
      trace::kRangeTimes | trace::kRangeClasses, [&](const TrackOfTrace& track) { return track.number == main_track; },
      [&](TrackOfTrace& track, const trace::EventBatch& batch) {
        std::map<uint32_t, bool> is_one;  // by class
        for (size_t i = 0; i < batch.ranges.size(); ++i) {
          const auto [entry, is_new] = is_one.try_emplace(batch.ranges.class_id[i]);
          if (is_new) entry->second = name_of(walk, track.number, batch.ranges.class_id[i]) == wait.name;
          if (entry->second)
            waits.push_back({track.ns(batch.ranges.end[i] - batch.ranges.duration[i]), track.ns(batch.ranges.end[i])});
        }
      });
  const Intervals during = intersection(Intervals(std::move(waits)), window);
  std::map<uint32_t, Intervals> others;
  for (const TrackOfTrace& track : walk.tracks())
    if (!track.on_device && track.number != main_track && track.writer == walk.tracks()[main_track].writer)
      others.emplace(track.number, during);
  for (const auto& [track, time] : host_time(walk, others))
    for (const HostRow& row : time.rows)
      if (row.self_ns > 0 && !is_wait(row.name)) wait.meanwhile.push_back({walk.tracks()[track].name(), row});
  std::stable_sort(wait.meanwhile.begin(), wait.meanwhile.end(),
                   [](const HostWait::Other& a, const HostWait::Other& b) { return a.row.self_ns > b.row.self_ns; });
  return wait;
}

// For each name, its time in the longer iterations is compared with that in as many others. Of ranges inside each
// other, the one with the least other time in it is the cause.
LongerIterations find_longer(EventWalk& walk, const DeviceWork& work, const Report& report, uint32_t main_track) {
  LongerIterations longer;
  std::vector<Interval> list;
  for (const Interval& one : report.iterations.list) {
    const uint64_t ns = static_cast<uint64_t>(time_between(one.begin, one.end));
    if (ns / 5 <= report.median_ns / 4) continue;
    list.push_back(one);
    longer.more_ns += ns - report.median_ns;
  }
  longer.count = list.size();
  const size_t others = report.iterations.list.size() - list.size();
  if (list.empty() || others == 0) return longer;
  double best = 0;
  const auto compare = [&](const std::string& name, uint64_t all_ns, uint64_t ns) {
    const double usual = static_cast<double>(all_ns - std::min(all_ns, ns)) / static_cast<double>(others),
                 own = static_cast<double>(ns), more = own - usual * static_cast<double>(longer.count);
    if (2 * more < static_cast<double>(longer.more_ns) || more * more / own <= best) return;
    best = more * more / own;
    longer.name = name;
    longer.explained_ns = std::min(longer.more_ns, base::round_ns(more));
  };
  const Intervals times(std::move(list));
  const HostTime host = host_time(walk, {{main_track, times}})[main_track];
  std::map<std::string, uint64_t> totals;
  for (const HostRow& row : report.host.rows) totals[row.name] = row.total_ns;
  for (const HostRow& row : host.rows)
    if (row.name != report.iterations.name && (report.devices.empty() || !is_wait(row.name)))
      compare(row.name, totals[row.name], row.total_ns);
  if (report.devices.empty()) return longer;
  totals.clear();
  for (const OperationRow& row : report.devices.front().operations) totals[row.name] = row.total_ns;
  for (const OperationRow& row : operation_rows(walk, work.devices[report.devices.front().number], times))
    compare(row.name, totals[row.name], row.total_ns);
  return longer;
}

// The busiest thread of those that live for at least half of the time, or the one that lives longest. A process that
// only waits for another one, such as a shell, is not it.
const ThreadStates& main_of(const std::vector<ThreadStates>& threads, uint64_t all_ns) {
  const auto busiest = std::find_if(threads.begin(), threads.end(),
                                    [&](const ThreadStates& one) { return one.life_ns() >= all_ns / 2; });
  if (busiest != threads.end()) return *busiest;
  return *std::max_element(threads.begin(), threads.end(),
                           [](const auto& a, const auto& b) { return a.life_ns() < b.life_ns(); });
}

// Its ranges are calls that blocked (kymo record --with waits), which say nothing about the parts of its work.
bool has_only_waits(const trace::WriterInfo& writer) {
  return std::all_of(writer.classes.begin(), writer.classes.end(), [](const auto& one) {
    const trace::EventClass& known = one.second;
    return known.category == "wait" || known.category == "memory" || trace::is_definition(known) ||
           is_profiler_cost(known.category, known.name);
  });
}

// Without ranges, the window is the life of all threads.
Intervals with_thread_states(Report& report, const trace::Reader& reader, Intervals window) {
  report.threads = read_thread_states(reader).threads;
  report.together = together(report.threads);
  const bool has_ranges =
      std::any_of(reader.event_chunks().begin(), reader.event_chunks().end(), [&](const trace::EventChunk& chunk) {
        const auto writer = reader.writers().find(chunk.writer);
        return chunk.range_count != 0 && writer != reader.writers().end() && !has_only_waits(writer->second);
      });
  if (has_ranges || !report.unfinished.empty() || report.threads.empty() ||
      report.iterations.source != Iterations::Source::WholeTrace)
    return window;
  report.is_by_state = true;
  Interval all{report.first_ns, report.last_ns};
  for (const ThreadStates& thread : report.threads) {
    all.begin = std::min(all.begin, thread.begin_ns);
    all.end = std::max(all.end, thread.end_ns);
  }
  return Intervals({all});
}

void add_parts_by_state(Report& report) {
  const ThreadStates& thread = main_of(report.threads, report.window_ns);
  report.main_thread = thread.label();
  const auto add = [&](const char* name, uint64_t ns) {
    if (ns > 0) report.parts.push_back({name, ns});
  };
  add("runs", thread.running_ns);
  add("waits", thread.waiting_ns);
  add("is ready, but others run", thread.preempted_ns);
  add("not known", thread.unknown_ns);
  add("before its begin and after its end", report.window_ns - std::min(report.window_ns, thread.life_ns()));
}

std::vector<OutOfMemory> find_out_of_memory(EventWalk& walk) {
  constexpr std::string_view kBegin = "out of memory: ";
  constexpr size_t kMost = 1000;
  const auto is_one = [&](const trace::EventClass& known) {
    return known.category == "memory" && known.name.starts_with(kBegin);
  };
  std::vector<OutOfMemory> found;
  walk.each(
      trace::kPoints | trace::kPointValues,
      [&](const TrackOfTrace& track) {
        return std::ranges::any_of(track.writer->classes, [&](const auto& one) { return is_one(one.second); });
      },
      [&](TrackOfTrace& track, const trace::EventBatch& batch) {
        trace::ValueCursor values(batch.points.values);
        for (size_t i = 0; i < batch.points.size(); ++i) {
          const trace::EventClass* const known = track.writer->find_class(batch.points.class_id[i]);
          const auto& row = values.next(known);
          if (known != nullptr && is_one(*known) && found.size() < kMost)
            found.push_back(
                {track.ns(batch.points.time[i]), trace::full_name(known, row).substr(kBegin.size()), track.name()});
        }
      });
  std::ranges::sort(found, {}, &OutOfMemory::time);
  return found;
}

// The least idle device first; those of the process that has the iterations before others.
void sort_devices(std::vector<DeviceReport>& devices, const std::string& main_rank) {
  std::stable_sort(devices.begin(), devices.end(), [&](const DeviceReport& a, const DeviceReport& b) {
    if ((a.rank == main_rank) != (b.rank == main_rank)) return a.rank == main_rank;
    return a.time.idle_total_ns() < b.time.idle_total_ns();
  });
}

}  // namespace

Report make_report(const trace::Reader& reader, const SampledFunctions* functions) {
  Report report;
  if (functions != nullptr) report.functions = *functions;
  EventWalk walk(reader);
  report.first_ns = walk.first_ns();
  report.last_ns = walk.last_ns();
  for (const auto& [id, writer] : reader.writers()) {
    const bool has_samples = std::ranges::any_of(
        writer.classes, [](const auto& one) { return one.second.category == "cpu" && one.second.name == "sample"; });
    if (!has_samples) continue;
    report.has_samples = true;
    for (const auto& [name, value] : writer.origin.metadata) {
      uint64_t count = 0;
      if (name == "processors") std::from_chars(value.data(), value.data() + value.size(), count);
      report.processors = std::max(report.processors, count);
      if (name == "not recorded") report.not_recorded = value;
    }
  }
  const DeviceWork work = read_device_work(walk);
  report.iterations = find_iterations(walk, launching_track(work));
  measure_iterations(report);
  Intervals window = report.iterations.window();
  report.unfinished = find_unfinished(walk);
  for (const Unfinished& one : report.unfinished) {
    if (report.first_ns == 0 && report.last_ns == 0) report.first_ns = report.last_ns = one.outer_begin;  // no events
    report.first_ns = std::min(report.first_ns, one.outer_begin);
    report.last_ns = std::max(report.last_ns, one.until);
    const TrackOfTrace& thread = walk.tracks()[one.track];
    const std::string name = thread.name(), number = base::format("{}", thread.track->tid);
    report.unfinished_threads.push_back(name.find(number) != std::string::npos ? name
                                                                               : name + " (thread " + number + ")");
    window = united(window, Intervals({{one.since, one.until}}));
  }
  if (!report.unfinished.empty() && report.iterations.source == Iterations::Source::WholeTrace)
    window = Intervals({{report.first_ns, report.last_ns}});
  if (report.has_samples && work.devices.empty()) window = with_thread_states(report, reader, window);
  report.window_ns = window.length();

  // The host: the main thread over the window.
  const uint32_t main_track = report.iterations.track.value_or(UINT32_MAX);
  const bool has_main = main_track < walk.tracks().size() && !report.is_by_state;
  OneThread main;
  if (has_main) {
    report.main_thread = walk.tracks()[main_track].name();
    main.track = main_track;
    main.shapes = &report.shapes;
    const TrackOfTrace& track = walk.tracks()[main_track];
    const auto states = std::ranges::find(report.threads, thread_key(*track.writer, *track.track), &ThreadStates::key);
    if (states != report.threads.end() && states->unknown_ns < states->life_ns() / 2) {
      main.running = times_in(*states, ThreadState::Running, window);
      main.waiting = times_in(*states, ThreadState::Waiting, window);
    }
    report.host = host_time(walk, {{main_track, window}}, main)[main_track];
  }

  report.device_operations_left_out = work.left_out;
  report.arrivals = find_arrivals(walk, work, window);
  const ProfilerTimes profiler(walk);
  for (uint32_t number = 0; number < work.devices.size(); ++number) {
    DeviceAnalysis device(walk, work, number, window, profiler);
    device.add_arrivals(report.arrivals);
    std::map<uint32_t, Intervals> late;
    Intervals nothing;
    device.add_host_times(main_track, late, nothing);
    DeviceReport& made = report.devices.emplace_back(std::move(device.finish()));
    if (!late.empty()) {
      uint64_t most_outside = 0;
      for (const auto& [track, time] : host_time(walk, late)) {
        merge(made.during_late, time.rows);
        made.during_late_outside_ns += time.outside_ns;
        if (functions == nullptr || time.outside_ns <= most_outside) continue;
        most_outside = time.outside_ns;
        const TrackOfTrace& thread = walk.tracks()[track];
        const auto found = functions->outside.find(thread_key(*thread.writer, *thread.track));
        if (found == functions->outside.end()) continue;
        made.outside_function = found->second.name;
        made.outside_function_ns = found->second.ns;
      }
    }
    if (!nothing.empty()) made.during_nothing = host_time(walk, {{main_track, nothing}})[main_track].rows;
  }
  sort_devices(report.devices, has_main ? rank_name(*walk.tracks()[main_track].writer) : "");
  if (!report.devices.empty()) {
    report.main_device = report.devices.front().name;
    add_parts_of_device(report, report.devices.front().time);
  } else {
    if (has_main) report.wait = find_wait(walk, report.host, main, window, functions);
    if (report.is_by_state)
      add_parts_by_state(report);
    else
      add_parts_of_host(report);
  }
  if (has_main && report.is_of_iterations() && 4 * (report.longest_ns / 5) > report.median_ns)
    report.longer = find_longer(walk, work, report, main_track);
  report.gpus = gpu_use(walk, work, window);
  report.stalls = gpu_stalls(walk);
  report.out_of_memory = find_out_of_memory(walk);
  report.findings = findings_of(report);
  report.problems = walk.problems();
  return report;
}

}  // namespace kymo::analyze
