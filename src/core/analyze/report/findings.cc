#include "analyze/report/findings.h"

#include <algorithm>

#include "analyze/report/known_names.h"
#include "base/iteration_name.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/units.h"
#include "symbols/short_name.h"

namespace kymo::analyze {
namespace {

using base::duration_text;

constexpr size_t kMost = 3, kRows = 3, kWidestName = 100;
constexpr double kSmallestShare = 0.01;
constexpr const char* kUneven = "uneven iterations";
constexpr const char* kWaiting = "waiting";
constexpr const char* kFunction = "function";
constexpr uint64_t kLongestPause = 20'000;  // nanoseconds that a device may need between two operations
constexpr uint64_t kSmallestEnd = 10;       // a tenth of the window

uint64_t between(int64_t from, int64_t to) {
  return to > from ? static_cast<uint64_t>(to) - static_cast<uint64_t>(from) : 0;
}

// Long names are those of kernels, which are functions of C++.
std::string shown(const std::string& name, size_t width = kWidestName) {
  if (name.empty()) return "(no name)";
  return base::display_width(name) <= width ? name : symbols::short_name(name, width);
}

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
      exposed(
          device, "copies", device.time.exposed_copies_ns, WorkKind::Copy,
          base::format("Copies run while {} does nothing else. Overlap them with kernels, or avoid them", device.name));
      exposed(device, "communication", device.time.exposed_communication_ns - device.time.exposed_waiting_ns,
              WorkKind::Communication,
              base::format("Communication runs while {} computes nothing. Overlap it with computation", device.name));
      straggler();
      latency(device);
      slow_launches(device);
      queued(device);
      nothing_submitted(device);
      unknown_launches(device);
      largest_kernel(device);
    } else {
      largest_name();
      wait();
      if (report_.is_by_state) {
        all_wait();
        largest_function();
        slower_side();
        bursts();
      } else {
        outside();
      }
      slow_lock();
      crowded();
    }
    data_loader();
    uneven_iterations();
    name_runtime();
    std::erase_if(found_, [&](const Finding& one) {
      return one.ns == 0 || static_cast<double>(weight(one)) < kSmallestShare * static_cast<double>(report_.window_ns);
    });
    std::stable_sort(found_.begin(), found_.end(),
                     [&](const Finding& a, const Finding& b) { return weight(a) > weight(b); });
    unfinished();
    out_of_memory();
    if (found_.size() > kMost) found_.resize(kMost);
    return std::move(found_);
  }

 private:
  // Uneven iterations are a symptom: a finding that explains all of them comes first, and if their cause is not known,
  // one that explains most of them. That all threads wait is a symptom of what explains most of it.
  uint64_t weight(const Finding& one) const {
    const SampledFunctions& functions = report_.functions;
    uint64_t ns = one.saves_ns != 0 ? one.saves_ns : one.ns;
    if (one.kind == kWaiting) {
      for (const uint64_t cause : {is_lock_slow() ? functions.lock.saves_ns() : 0, functions.limit.saves_ns(),
                                   functions.bursts.action.empty() ? 0 : functions.bursts.ns})
        if (cause > one.ns / 2) ns = std::min(ns, std::min(cause, report_.window_ns) - 1);
      return ns;
    }
    // So is a slower side that itself waits for a lock.
    if (one.kind == "slower side" && is_lock_slow() && functions.limit.action == "waits for a " + functions.lock.kind) {
      const uint64_t lock = functions.lock.unfinished != 0 ? functions.lock.ns : functions.lock.saves_ns();
      return std::min(ns, std::max<uint64_t>(std::min(lock, report_.window_ns), 1) - 1);
    }
    // Rare long work says more than the function that it calls.
    if (one.kind == kFunction) {
      const uint64_t half = one.ns / 2;  // also if records were lost, so that no saving is proven
      const uint64_t bursts = functions.bursts.action.empty() ? std::min(functions.bursts.ns, report_.window_ns) : 0;
      return bursts > half / 2 ? std::min(half, bursts - 1) : half;
    }
    if (one.kind != kUneven) return ns;
    return ns - ns / (report_.longer.name.empty() ? 4 : 32);
  }

  // "12.3 % of the iterations"
  std::string share(uint64_t ns) const {
    return base::percent_text(ns, report_.window_ns) + (!report_.is_of_iterations()           ? " of the time"
                                                        : report_.iterations.list.size() == 1 ? " of the iteration"
                                                                                              : " of the iterations");
  }
  std::string after_begin(int64_t time) const { return "+" + duration_text(between(report_.first_ns, time)); }
  std::string timeline(int64_t begin, int64_t end) const {
    return base::format("kymo timeline FILE --from {}us --to {}us", between(report_.first_ns, begin) / 1000,
                        between(report_.first_ns, end) / 1000 + 1);
  }

  Finding& add(const char* kind, uint64_t ns, uint64_t saves_ns, std::string text) {
    Finding& one = found_.emplace_back();
    one.kind = kind;
    one.ns = ns;
    one.saves_ns = saves_ns;
    one.text = std::move(text);
    return one;
  }

  void unfinished() {
    if (report_.unfinished.empty()) return;
    const Unfinished& worst = report_.unfinished.front();
    Finding one;
    one.kind = "unfinished";
    one.ns = between(worst.since, worst.until);
    one.text = base::format(
        "\"{}\" on {} has not ended: it began at {}, and nothing more came from this thread until its process was last "
        "seen at {}",
        shown(worst.ranges.back()), report_.unfinished_threads.front(), after_begin(worst.begin),
        after_begin(worst.until));
    for (size_t i = 0; i < std::min(kRows, report_.unfinished.size()); ++i) {
      const Unfinished& thread = report_.unfinished[i];
      std::string path;
      for (const std::string& range : thread.ranges) path += (path.empty() ? "" : " > ") + shown(range);
      one.evidence.push_back(base::format("{}: {}, open for {}, silent for {}", report_.unfinished_threads[i], path,
                                          duration_text(between(thread.begin, thread.until)),
                                          duration_text(between(thread.since, thread.until))));
    }
    if (report_.unfinished.size() > kRows)
      one.evidence.push_back(base::format("and {} more threads", report_.unfinished.size() - kRows));
    one.command = timeline(worst.begin, worst.until);
    if (!report_.has_samples) one.record = "the functions in which threads wait: kymo record --sample-waits";
    found_.insert(found_.begin(), std::move(one));
  }

  void out_of_memory() {
    if (report_.out_of_memory.empty()) return;
    const OutOfMemory& last = report_.out_of_memory.back();
    Finding one;
    one.kind = "out of memory";
    one.text = base::format("A device was out of memory {}, for the last time at {}: {} asked for {}",
                            times(report_.out_of_memory.size()), after_begin(last.time), last.thread, last.what);
    one.command = "kymo memory FILE --by range";
    found_.insert(found_.begin(), std::move(one));
  }

  // PyTorch has a range around each fetch of a batch. What counts is the time in which no device is busy either.
  void data_loader() {
    const auto fetches = [](const HostRow& row) { return row.name.starts_with("enumerate(DataLoader)#"); };
    const std::vector<HostRow>& rows =
        report_.devices.empty() ? report_.host.rows : report_.devices.front().during_late;
    const auto worst = std::ranges::max_element(
        rows, {}, [&](const HostRow& row) { return fetches(row) ? row.total_ns + 1 : uint64_t{0}; });
    if (worst == rows.end() || !fetches(*worst)) return;
    const bool has_workers = worst->name.find("MultiProcessing") != std::string::npos;
    Finding& one =
        add("data loader", worst->total_ns, worst->total_ns,
            has_workers ? base::format("The loop waits for the workers of its DataLoader: {}. Give it more "
                                       "workers (num_workers), or less to do for each batch",
                                       share(worst->total_ns))
                        : base::format("The loop loads its data itself: {}. Give the DataLoader processes of "
                                       "its own (num_workers)",
                                       share(worst->total_ns)));
    one.evidence.push_back(
        base::format("{} in {} ({})", duration_text(worst->total_ns), shown(worst->name), times(worst->count)));
    one.command = "kymo hist FILE " + pattern(worst->name);
  }

  void late_launches(const DeviceReport& device) {
    const uint64_t ns = device.time.idle_ns[static_cast<size_t>(IdleCause::LateLaunch)];
    Finding& one =
        add("late launches", ns, ns, base::format("{} waits for the host to launch work: {}", device.name, share(ns)));
    // The range with the most time is often around the ones with the most self time.
    const auto order = [](const HostRow& row) { return std::pair(!base::names_iteration(row.name), row.total_ns); };
    const auto outer = std::max_element(device.during_late.begin(), device.during_late.end(),
                                        [&](const HostRow& a, const HostRow& b) { return order(a) < order(b); });
    if (outer != device.during_late.end() && order(*outer).first && outer->total_ns > outer->self_ns * 3 / 2)
      one.evidence.push_back(base::format("meanwhile {} in {} and what is inside ({})", duration_text(outer->total_ns),
                                          shown(outer->name), times(outer->count)));
    const auto before_rows = std::ssize(one.evidence);
    meanwhile(device.during_late, one);
    const uint64_t outside_ns = device.during_late_outside_ns;
    const std::vector<HostRow>& late = device.during_late;
    const auto end = late.begin() + std::min(std::ssize(late), static_cast<ptrdiff_t>(kRows));
    const auto larger =
        std::ranges::count_if(late.begin(), end, [&](const HostRow& row) { return row.self_ns > outside_ns; });
    if (outside_ns > 0) {
      std::string text = base::format("meanwhile {} outside of any range", duration_text(outside_ns));
      if (!device.outside_function.empty())
        text += base::format("; {} uses most CPU time there: {}", shown(device.outside_function),
                             duration_text(device.outside_function_ns));
      one.evidence.insert(one.evidence.begin() + before_rows + larger, std::move(text));
    }
    one.command = larger == 0 && !device.outside_function.empty()
                      ? "kymo stats FILE --callees " + pattern(device.outside_function)
                  : late.empty() ? "kymo timeline FILE"
                                 : "kymo hist FILE " + pattern(late[0].name);
    if (2 * device.during_late_outside_ns > ns && !report_.has_samples)
      one.record = "what the host does outside of its ranges: kymo record samples its functions";
  }

  static void meanwhile(const std::vector<HostRow>& rows, Finding& to) {
    for (size_t i = 0; i < std::min(kRows, rows.size()); ++i)
      if (rows[i].self_ns > 0)
        to.evidence.push_back(base::format("meanwhile {} in {} ({})", duration_text(rows[i].self_ns),
                                           shown(rows[i].name), times(rows[i].count)));
  }

  void exposed(const DeviceReport& device, const char* kind, uint64_t ns, WorkKind work, const std::string& advice) {
    Finding& one = add(kind, ns, ns, base::format("{}: {}", advice, share(ns)));
    rows(device, work, one);
    one.command = "kymo stats FILE --by thread";
    if (work != WorkKind::Communication) return;
    if (report_.devices.size() == 1)
      one.record =
          "the traces of all ranks, and merge them (kymo merge): a rank that waits for another one looks the same as "
          "communication";
    else if (report_.arrivals.calls > 0 && report_.arrivals.error_ns > ns / report_.arrivals.calls)
      one.record = base::format(
          "what aligns the clocks of the ranks, which are exact only to {}: the trace does not say who arrives last "
          "(kymo merge says why)",
          duration_text(report_.arrivals.error_ns));
  }

  void straggler() {
    const std::vector<RankArrivals>& ranks = report_.arrivals.ranks;
    const RankArrivals* const last = straggler_of(report_.arrivals);
    if (last == nullptr) return;
    const auto by_number = [&](uint32_t number) -> const DeviceReport& {
      return *std::find_if(report_.devices.begin(), report_.devices.end(),
                           [&](const DeviceReport& one) { return one.number == number; });
    };
    const auto named = [&](uint32_t number) {
      const DeviceReport& device = by_number(number);
      return device.name.ends_with(device.rank) ? device.name : base::format("{} of {}", device.name, device.rank);
    };
    const uint64_t ns = last->awaited.length();
    Finding& one = add("straggler", ns, ns,
                       base::format("{} arrives last at {} of {} collectives, and all other ranks wait for it: {}",
                                    named(last->device), last->last_at, last->calls, share(ns)));
    const DeviceReport& device = by_number(last->device);
    one.evidence.push_back(base::format("meanwhile it computes for {}, and is idle for {}",
                                        duration_text(device.awaited_compute_ns),
                                        duration_text(device.awaited_idle_ns)));
    for (size_t i = 0; i < std::min(kRows, ranks.size()); ++i)
      one.evidence.push_back(base::format("{}: last at {} of {}, waits for {} itself", named(ranks[i].device),
                                          ranks[i].last_at, ranks[i].calls, duration_text(ranks[i].waited_ns)));
    one.command = "kymo path FILE";
  }

  // The queue was empty, so the time between the launch and the start is not hidden.
  void latency(const DeviceReport& device) {
    const GapSummary& gaps = device.gaps[static_cast<size_t>(IdleCause::LaunchLatency)];
    const uint64_t count = gaps.count - gaps.slow, ns = gaps.ns - gaps.slow_ns;
    if (count == 0) return;
    Finding& one = add(
        "launch latency", ns, ns,
        base::format("{} waits between a launch and the start of its operation, because nothing else is queued: {}. "
                     "Launch earlier, fuse short operations, or launch them as a graph",
                     device.name, share(ns)));
    one.evidence.push_back(base::format("{}, {} each on average, with {} operations in all", times(count),
                                        duration_text(ns / count), device.time.operations));
    one.command = "kymo stats FILE --sort count";
  }

  void slow_launches(const DeviceReport& device) {
    const GapSummary& gaps = device.gaps[static_cast<size_t>(IdleCause::LaunchLatency)];
    const uint64_t count = gaps.slow, ns = gaps.slow_ns;
    if (count == 0) return;
    Finding& one = add("slow launches", ns, ns,
                       base::format("{} waits for {}: {}", device.name,
                                    count == 1 ? "a slow launch" : base::format("{} slow launches", count), share(ns)));
    one.evidence.push_back(base::format("the longest: {} at {}, {} until {} started", shown(gaps.launch),
                                        after_begin(gaps.launch_begin), duration_text(gaps.longest_ns),
                                        shown(gaps.next)));
    one.evidence.push_back(base::format("the call itself took {}{}",
                                        duration_text(between(gaps.launch_begin, gaps.launch_end)),
                                        gaps.is_first_run ? "; it is the first run of this operation, which may load "
                                                            "or compile its code"
                                                          : ""));
    one.command = timeline(gaps.launch_begin, gaps.longest_begin + static_cast<int64_t>(gaps.longest_ns));
  }

  void queued(const DeviceReport& device) {
    for (const IdleCause cause : {IdleCause::Queued, IdleCause::Waiting}) {
      const GapSummary& gaps = device.gaps[static_cast<size_t>(cause)];
      if (gaps.count == 0) continue;
      const bool waits = cause == IdleCause::Waiting;
      const bool are_pauses = !waits && gaps.longest_ns < kLongestPause;
      Finding& one = add(
          waits        ? "waiting for an event"
          : are_pauses ? "pauses"
                       : "queued",
          gaps.ns, gaps.ns,
          are_pauses ? base::format("{} pauses between queued operations: {}. Fewer and longer operations have fewer "
                                    "pauses",
                                    device.name, share(gaps.ns))
                     : base::format("{} is idle while its next operation is queued{}: {}", device.name,
                                    waits ? ", and waits for an event" : "", share(gaps.ns)));
      one.evidence.push_back(base::format("{}, median {}, longest {} at {}", times(gaps.count),
                                          duration_text(gaps.median_ns), duration_text(gaps.longest_ns),
                                          after_begin(gaps.longest_begin)));
      one.command = timeline(gaps.longest_begin, gaps.longest_begin + static_cast<int64_t>(gaps.longest_ns));
      if (are_pauses) continue;
      one.evidence.push_back(base::format(
          "after the longest: {}, launched by {} {} before it started", shown(gaps.next), shown(gaps.launch),
          duration_text(between(gaps.launch_begin, gaps.longest_begin) + gaps.longest_ns)));
      if (!waits)
        one.record =
            "all processes and queues that use the device, from before this time, and the waits for events: no "
            "operation in the trace explains it (kymo path shows if a call waits for an event)";
    }
  }

  void nothing_submitted(const DeviceReport& device) {
    const GapSummary& gaps = device.gaps[static_cast<size_t>(IdleCause::NothingLeft)];
    if (gaps.ns < report_.window_ns / kSmallestEnd) return;
    Finding& one = add("nothing submitted", gaps.ns, gaps.ns,
                       base::format("{} has nothing to do after its last operation: {}", device.name, share(gaps.ns)));
    meanwhile(device.during_nothing, one);
    one.evidence.push_back(base::format("its last operation ends at {}", after_begin(gaps.longest_begin)));
    one.command = timeline(gaps.longest_begin, gaps.longest_begin + static_cast<int64_t>(gaps.longest_ns));
    if (!report_.has_samples) one.record = "what the host does then: kymo record samples its functions";
  }

  void unknown_launches(const DeviceReport& device) {
    const GapSummary& gaps = device.gaps[static_cast<size_t>(IdleCause::Unknown)];
    Finding& one = add("unknown launches", gaps.ns, 0,
                       base::format("{} is idle before operations whose launches are not in the trace: {}", device.name,
                                    share(gaps.ns)));
    one.evidence.push_back(base::format("{}, longest {} at {}, before {}", times(gaps.count),
                                        duration_text(gaps.longest_ns), after_begin(gaps.longest_begin),
                                        shown(gaps.next)));
    one.command = timeline(gaps.longest_begin, gaps.longest_begin + static_cast<int64_t>(gaps.longest_ns));
    one.record = "the calls of the device's interface, such as those of the CUDA runtime and driver";
  }

  // Only the time in which nothing else runs on the device can be saved.
  void largest_kernel(const DeviceReport& device) {
    const auto largest = std::find_if(device.operations.begin(), device.operations.end(),
                                      [](const OperationRow& row) { return row.kind == WorkKind::Compute; });
    if (largest == device.operations.end()) return;
    const uint64_t half = largest->total_ns / 2, alone = device.largest_alone_ns;
    Finding& one = add("kernel", largest->total_ns, std::min(half, alone),
                       base::format("{} computes for {}. The kernel with the most time, {}, has {}. Twice as fast, it "
                                    "would save {}",
                                    device.name, share(device.time.compute_ns), shown(largest->name, kWidestName / 2),
                                    base::percent_text(largest->total_ns, report_.window_ns),
                                    half <= alone ? "half of that" : "only the time in which nothing else runs"));
    if (one.saves_ns == 0) one.ns = 0;
    rows(device, WorkKind::Compute, one);
    one.command = "kymo hist FILE " + pattern(largest->name);
  }

  bool waits(const HostRow& row) const {
    return std::ranges::find(report_.wait.all, row.name) != report_.wait.all.end();
  }
  // It is in the first finding already.
  bool hangs(const HostRow& row) const {
    return std::any_of(report_.unfinished.begin(), report_.unfinished.end(), [&](const Unfinished& one) {
      return base::without_iteration_number(one.ranges.back()) == row.name;
    });
  }

  // The range of the main thread with the most self time that does not wait.
  void largest_name() {
    const auto largest = std::find_if(report_.host.rows.begin(), report_.host.rows.end(),
                                      [&](const HostRow& row) { return !waits(row) && !hangs(row); });
    if (largest == report_.host.rows.end()) return;
    Finding& one = add("range", largest->self_ns, largest->self_ns / 2,
                       base::format("\"{}\" takes {} itself. Twice as fast, it would save half of that",
                                    shown(largest->name), share(largest->self_ns)));
    for (size_t i = 0; i < std::min(kRows, report_.host.rows.size()); ++i) {
      const HostRow& row = report_.host.rows[i];
      one.evidence.push_back(base::format("{} of self time in {} ({}, longest {})", duration_text(row.self_ns),
                                          shown(row.name), times(row.count), duration_text(row.longest_ns)));
    }
    one.command = "kymo hist FILE " + pattern(largest->name);
  }

  // A wait cannot be made faster: what it waits for can.
  void wait() {
    const HostWait& wait = report_.wait;
    const auto row = std::ranges::find_if(report_.host.rows, [&](const HostRow& one) {
      return !wait.name.empty() && one.name == wait.name && !hangs(one);
    });
    if (row == report_.host.rows.end()) return;
    Finding& one = add("wait", row->self_ns, 0,
                       base::format("\"{}\" waits for {}. Shorten what it waits for, or do other work meanwhile",
                                    shown(row->name), share(row->self_ns)));
    if (wait.cpu_ns)
      one.evidence.push_back(base::format("{} of self time ({}), with {}{} of CPU time", duration_text(row->self_ns),
                                          times(row->count), wait.is_cpu_at_most ? "at most " : "",
                                          duration_text(*wait.cpu_ns)));
    else
      one.evidence.push_back(base::format("{} of self time ({}, longest {}); by its name, it waits",
                                          duration_text(row->self_ns), times(row->count),
                                          duration_text(row->longest_ns)));
    size_t others = 0;
    for (const HostRow& other : report_.host.rows)
      if (waits(other) && other.name != wait.name && !hangs(other) && other.self_ns != 0 && ++others < kRows)
        one.evidence.push_back(
            base::format("{} of self time in {}, which waits too", duration_text(other.self_ns), shown(other.name)));
    for (size_t i = 0; i < std::min(kRows, wait.meanwhile.size()); ++i)
      one.evidence.push_back(base::format("meanwhile {} in {} on {}", duration_text(wait.meanwhile[i].row.self_ns),
                                          shown(wait.meanwhile[i].row.name), wait.meanwhile[i].thread));
    one.command = "kymo hist FILE " + pattern(row->name);
    if (wait.meanwhile.empty())
      one.record = "what it waits for: ranges on the other threads, or kymo record --sample-waits";
  }

  void outside() {
    const uint64_t ns = report_.host.outside_ns;
    if (2 * ns < report_.window_ns && !report_.host.rows.empty() && report_.host.rows.front().self_ns > ns) return;
    Finding& one = add("outside of ranges", ns, 0,
                       base::format("{} is outside of any range for {}", report_.main_thread, share(ns)));
    one.evidence.push_back(
        base::format("{} of {} are not inside a range", duration_text(ns), duration_text(report_.window_ns)));
    one.command = report_.has_samples ? "kymo stats FILE --by function" : "kymo timeline FILE";
    if (!report_.has_samples) one.record = "more ranges, or the functions that run then: kymo record samples them";
  }

  // Threads wait for one lock for at least a tenth of all the time that they wait, as far as it is known for what.
  bool is_lock_slow() const {
    uint64_t waiting = report_.functions.is_lock_recorded ? 0 : report_.functions.stacked_ns;
    if (waiting == 0)
      for (const ThreadStates& thread : report_.threads) waiting += thread.waiting_ns;
    return !report_.functions.lock.kind.empty() && report_.functions.lock.ns > waiting / 10;
  }
  // "4.16 s waiting for a mutex, in log_result, which worker 2 held in write_line for 51 % of it"
  std::string lock_text() const {
    const SampledFunctions::Lock& lock = report_.functions.lock;
    std::string text = base::format("{} waiting for a {}", duration_text(lock.ns), lock.kind);
    if (!lock.function.empty()) text += base::format(", in {}", shown(lock.function));
    if (!lock.holder_function.empty())
      text += base::format(", which {} held in {} for {} of it", holders(), shown(lock.holder_function),
                           base::percent_text(lock.held_ns, lock.ns));
    return text;
  }
  // "worker 2 and 3 other threads"
  static std::string with_others(const std::string& thread, size_t others) {
    return thread + (others == 0   ? std::string()
                     : others == 1 ? " and another thread"
                                   : base::format(" and {} other threads", others));
  }
  std::string holders() const {
    return with_others(report_.functions.lock.holder, report_.functions.lock.other_holders);
  }

  // Without the lock, the thread that waited for it the longest would have ended so much earlier, and no other one
  // more.
  void slow_lock() {
    if (!is_lock_slow()) return;
    const SampledFunctions::Lock& lock = report_.functions.lock;
    Finding& one = add("lock", std::min(lock.ns, report_.window_ns),
                       lock.unfinished != 0 ? 0 : std::min(lock.saves_ns(), report_.window_ns),
                       lock_text() + ". Hold it for less time, or divide what it protects");
    one.evidence.push_back(
        base::format("{} of a {}{}, longest {}{}", lock.count == 1 ? "one wait" : base::format("{} waits", lock.count),
                     lock.kind, lock.unfinished == 0 ? "" : base::format(", of which {} did not end", lock.unfinished),
                     duration_text(lock.longest_ns),
                     lock.holder_function.empty()
                         ? std::string("; where the lock was held is not known")
                         : base::format("; {} held it in {} for {} of the time", holders(), shown(lock.holder_function),
                                        base::percent_text(lock.held_ns, lock.ns))));
    one.evidence.push_back(base::format("one thread waits for it for {} of {}", duration_text(lock.longest_thread_ns),
                                        duration_text(report_.window_ns)));
    if (lock.maybe_ns != 0)
      one.evidence.push_back(
          base::format("{} of its waits that other threads ended have no stack: they may be for it too",
                       duration_text(lock.maybe_ns)));
    one.command = report_.functions.is_lock_recorded ? "kymo stats FILE --by lock" : "kymo stats FILE --by wait";
    if ((lock.holder_function.empty() || lock.maybe_ns > lock.longest_thread_ns) && !report_.functions.is_lock_recorded)
      one.record = "the locks and who held them: kymo record --with waits";
  }

  // ", where it sleeps"
  static std::string where_it(const std::string& action) { return action.empty() ? "" : ", where it " + action; }

  // A thread that waits for another one again and again is not the one to make faster.
  void slower_side() {
    const SampledFunctions::Limit& limit = report_.functions.limit;
    if (limit.by.empty()) return;
    const uint64_t ns = std::min(limit.ns, report_.window_ns);
    std::string text = base::format("{}{} waits for {}: {}. The slower side is {}", limit.waiting,
                                    limit.waiting_function.empty() ? "" : ", in " + shown(limit.waiting_function) + ",",
                                    with_others(limit.by, limit.others), share(ns), limit.by);
    if (!limit.function.empty())
      text += base::format(", mostly in {}{}", shown(limit.function), where_it(limit.action));
    Finding& one = add("slower side", ns, std::min(limit.saves_ns(), ns), std::move(text));
    one.evidence.push_back(base::format("{} waits, {} on average", limit.count,
                                        duration_text(limit.ns / std::max<uint64_t>(limit.count, 1))));
    if (!limit.function.empty())
      one.evidence.push_back(base::format("meanwhile {} {} in {} for {}", limit.by,
                                          limit.action.empty() ? "runs" : limit.action, shown(limit.function),
                                          duration_text(limit.function_ns)));
    one.command = "kymo path FILE";
  }

  // Most of the program's iterations do not have it, so they are much shorter than those that have.
  void bursts() {
    const SampledFunctions::Bursts& bursts = report_.functions.bursts;
    if (bursts.function.empty()) return;
    const uint64_t ns = std::min(bursts.ns, report_.window_ns);
    Finding& one =
        add("bursts", ns, ns,
            base::format(
                "{} {} {}, for {} each time{}: {}. Most of the time nothing waits for it: divide its work, or do it "
                "on another thread",
                shown(bursts.function), bursts.action.empty() ? "runs" : bursts.action, times(bursts.count),
                duration_text(bursts.median_ns),
                bursts.period_ns == 0 ? "" : base::format(", every {}", duration_text(bursts.period_ns)), share(ns)));
    one.evidence.push_back(base::format("{}, {} in all, median {}", times(bursts.count), duration_text(bursts.ns),
                                        duration_text(bursts.median_ns)));
    one.command = "kymo stats FILE --callees " + pattern(bursts.function);
  }

  // --with waits needs no rights.
  const char* record_waits() const {
    return report_.not_recorded.empty()         ? "the functions that wait: kymo record --sample-waits"
           : report_.functions.is_lock_recorded ? "the functions that wait: kymo record as root"
                                                : "what the threads wait for: kymo record --with waits, or as root";
  }

  // Nothing of the program can go on.
  void all_wait() {
    const uint64_t ns = report_.together.all_waiting_ns;
    const SampledFunctions& functions = report_.functions;
    const bool is_one = report_.threads.size() == 1;
    std::string text =
        base::format("{} for {}: {}", is_one ? report_.main_thread + " waits" : "All threads wait at the same time",
                     duration_text(ns), share(ns));
    const auto has_name = [](const SampledFunctions::Function& row) { return !row.name.empty(); };
    const auto most = std::ranges::find_if(functions.waiting, has_name);
    uint64_t most_ns = 0, named_ns = 0;
    bool is_one_of_many = false;
    for (const SampledFunctions::Function& row : functions.waiting) {
      if (has_name(row)) named_ns += row.ns;
      if (!has_name(row) || row.name != most->name || row.action != most->action) continue;
      most_ns += row.ns;
      is_one_of_many = is_one_of_many || row.thread != most->thread;
    }
    constexpr uint64_t kEnough = 10;  // a tenth of the time
    const bool is_certain = most_ns >= ns / 2,
               is_known = most_ns != 0 && (is_certain || (most_ns >= named_ns / 2 && named_ns >= ns / kEnough));
    if (is_known) {
      text += is_one ? base::format(", mostly in {}{}", shown(most->name), where_it(most->action))
                     : base::format(", mostly while {} is in {}{}",
                                    is_one_of_many ? "one of several threads" : most->thread, shown(most->name),
                                    where_it(most->action));
      if (!is_certain) text += ", as far as stacks are known";
    }
    Finding& one = add(kWaiting, ns, ns, std::move(text));
    one.evidence.push_back(base::format("{} for {} of {}", is_one ? "it runs" : "at least one thread runs",
                                        duration_text(report_.together.any_running_ns),
                                        duration_text(report_.window_ns)));
    for (size_t i = 0; i < std::min(kRows, functions.waiting.size()); ++i) {
      const SampledFunctions::Function& row = functions.waiting[i];
      one.evidence.push_back(base::format("{} {}{} for {} ({})", row.thread, row.action.empty() ? "waits" : row.action,
                                          row.name.empty() ? ", with no recorded stack," : " in " + shown(row.name),
                                          duration_text(row.ns), times(row.count)));
    }
    const bool is_complete = std::ranges::all_of(functions.waiting, has_name);
    one.command = functions.has_wait_stacks ? "kymo stats FILE --by wait" : "kymo stats FILE --by thread";
    if (is_known && most->action == "waits for input")
      one.record = "who sends the input: record that program too, with --pid if it runs already";
    else if (!functions.has_wait_stacks || !is_complete)
      one.record = record_waits();
    name_losses(one);
  }

  // Its threads may run at the same time, so it cannot save more than the time in which any of them runs.
  void largest_function() {
    const std::vector<SampledFunctions::Function>& functions = report_.functions.running;
    if (functions.empty()) return;
    const uint64_t lost = report_.functions.lost_cpu_ns;
    uint64_t cpu_ns = lost;
    for (const ThreadStates& thread : report_.threads) cpu_ns += thread.running_ns;
    const uint64_t ns = std::min(functions.front().ns, report_.together.any_running_ns);
    Finding& one =
        add(kFunction, ns, is_cpu_lost() ? 0 : ns / 2,
            base::format(
                "{} uses {}{} of the {}CPU time, itself and in libraries. Twice as fast, it would save half of that",
                shown(functions.front().name), lost > 0 ? "at least " : "",
                base::percent_text(std::min(functions.front().ns, cpu_ns), cpu_ns),
                lost == 0 && is_cpu_lost() ? "known " : ""));
    for (size_t i = 0; i < std::min(kRows, functions.size()); ++i)
      one.evidence.push_back(
          base::format("{} of CPU time in {}", duration_text(functions[i].ns), shown(functions[i].name)));
    one.command = "kymo stats FILE --by function";
    // What is not the CPU time may be the cause.
    uint64_t unknown_ns = 0;
    for (const ThreadStates& thread : report_.threads) unknown_ns += thread.unknown_ns;
    if (!report_.not_recorded.empty() && unknown_ns > cpu_ns) one.record = record_waits();
    name_losses(one);
  }

  // So much that the numbers of functions and threads are those of a part of the time.
  bool is_cpu_lost() const {
    uint64_t lives = 0;
    for (const ThreadStates& thread : report_.threads) lives += thread.life_ns();
    return report_.functions.lost_cpu_ns + report_.functions.unknown_ns > lives / 100;
  }
  void name_losses(Finding& one) const {
    if (!is_cpu_lost()) return;
    const uint64_t lost = report_.functions.lost_cpu_ns;
    one.evidence.push_back(
        base::format("records were lost, so these numbers lack {}",
                     lost > 0 ? duration_text(lost) + " of CPU time"
                              : duration_text(report_.functions.unknown_ns) + " in which threads ran or not"));
    if (one.record.empty()) one.record = "fewer samples a second, so that none are lost: kymo record --sample 250Hz";
  }

  // At each time, at most one thread that is not allowed to run delays the end.
  void crowded() {
    uint64_t ready = 0, wanted = 0;
    for (const ThreadStates& thread : report_.threads) {
      ready += thread.preempted_ns;
      wanted += thread.preempted_ns + thread.running_ns;
    }
    const ThreadsTogether& together = report_.together;
    const size_t processors = report_.processors != 0 ? report_.processors : together.most_running;
    const bool are_own = together.wanting_more_than(processors) > together.any_preempted_ns / 2;
    const std::string who =
        !are_own ? "Other programs have the processors"
        : report_.processors != 0
            ? base::format(
                  "{} busy threads on {}", together.most_wanting,
                  report_.processors == 1 ? "one processor" : base::format("{} processors", report_.processors))
            : base::format("{} threads want to run at the same time, and at most {}", together.most_wanting,
                           together.most_running == 1 ? "one runs" : base::format("{} run", together.most_running));
    Finding& one = add("ready", together.any_preempted_ns, together.any_preempted_ns,
                       base::format("{}: threads are ready but do not run for {} of the time that they could", who,
                                    base::percent_text(ready, wanted)));
    std::vector<const ThreadStates*> most;
    for (const ThreadStates& thread : report_.threads) most.push_back(&thread);
    std::stable_sort(most.begin(), most.end(),
                     [](const auto* a, const auto* b) { return a->preempted_ns > b->preempted_ns; });
    for (size_t i = 0; i < std::min(kRows, most.size()); ++i)
      if (most[i]->preempted_ns > 0)
        one.evidence.push_back(base::format("{} (thread {}) is ready for {}, and runs for {}", most[i]->label(),
                                            most[i]->tid, duration_text(most[i]->preempted_ns),
                                            duration_text(most[i]->running_ns)));
    one.command = "kymo stats FILE --by thread";
    name_losses(one);
  }

  void uneven_iterations() {
    if (report_.iterations.list.size() < 3 || !report_.is_of_iterations()) return;
    const uint64_t even = report_.median_ns * report_.iterations.list.size();
    const uint64_t ns = report_.window_ns > even ? report_.window_ns - even : 0;
    const LongerIterations& longer = report_.longer;
    Finding& one = add(kUneven, ns, ns,
                       base::format("Some iterations take longer than most{}: with the median time in all of them, {} "
                                    "of their time would be saved",
                                    longer.name.empty() ? "" : ", because of \"" + shown(longer.name) + "\"",
                                    base::percent_text(ns, report_.window_ns)));
    if (!longer.name.empty())
      one.evidence.push_back(base::format("{} explains {} of what {} of {} iterations take longer: {} each",
                                          shown(longer.name), base::percent_text(longer.explained_ns, longer.more_ns),
                                          longer.count, report_.iterations.list.size(),
                                          duration_text(longer.explained_ns / longer.count)));
    const Interval& slowest = report_.iterations.list[report_.longest_iteration];
    one.evidence.push_back(base::format("median {}, longest {}: number {}, at {}", duration_text(report_.median_ns),
                                        duration_text(report_.longest_ns), report_.longest_iteration,
                                        after_begin(slowest.begin)));
    one.command = timeline(slowest.begin, slowest.end);
  }

  // HotSpot waits with its own functions for everything that a program of Java waits for.
  void name_runtime() {
    const auto is_of_java = [](const std::string& function) {
      return function.starts_with("os::") || function.starts_with("Parker::") ||
             function.find("Monitor::") != function.npos;
    };
    const SampledFunctions& functions = report_.functions;
    for (Finding& one : found_) {
      std::string function;
      if (one.kind == "lock") function = functions.lock.function;
      if (one.kind == "slower side") function = functions.limit.waiting_function;
      const bool is_waiting = one.kind == kWaiting && std::ranges::any_of(functions.waiting, [&](const auto& row) {
                                return is_of_java(row.name);
                              });
      if (is_waiting || is_of_java(function))
        one.record = "the functions of Java (kymo record --with java --sample-waits; kymo stats --by wait --tree)";
    }
  }

  static void rows(const DeviceReport& device, WorkKind kind, Finding& to) {
    size_t left = kRows;
    for (const OperationRow& row : device.operations) {
      if (row.kind != kind || left == 0) continue;
      --left;
      to.evidence.push_back(base::format("{} in {} ({}, longest {})", duration_text(row.total_ns), shown(row.name),
                                         times(row.count), duration_text(row.longest_ns)));
    }
  }

  const Report& report_;
  std::vector<Finding> found_;
};

}  // namespace

std::vector<Finding> findings_of(const Report& report) { return Search(report).find(); }

}  // namespace kymo::analyze
