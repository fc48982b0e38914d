#include "analyze/functions/causes.h"

#include <algorithm>
#include <functional>
#include <map>
#include <span>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "analyze/functions/functions.h"
#include "analyze/functions/thread_places.h"
#include "analyze/memory/stacks.h"
#include "base/text.h"
#include "convert/places.h"
#include "kymo/error.h"
#include "trace/clock.h"
#include "trace/values.h"

namespace kymo::functions {
namespace {

using memory::SampleStacks;
using memory::StackId;

constexpr uint64_t kShortestBurst = 5'000'000;
constexpr size_t kFewestBursts = 3, kFewestWaits = 3;
constexpr int kMostSteps = 64;  // from one holder of a lock to the one before it

// Python's own module waits with locks for everything.
std::string_view action_of_python(const symbols::Frame& frame) {
  if (!frame.module.ends_with("/threading.py")) return {};
  return frame.function == "wait" || frame.function.ends_with(".wait") ? kCondition
         : frame.function.ends_with("join")                            ? kJoin
                                                                       : std::string_view();
}

// A thread that does not come back from it.
bool is_end(std::string_view function) {
  return function == "do_exit" || function == "do_group_exit" || function == "_exit" || function == "__GI__exit";
}

// Or what it waits for is not known.
bool may_wait_for_end(std::string_view action) { return action.empty() || action == kJoin || action == kChild; }

bool is_lock(std::string_view action) { return action == kMutex || action == kReadWrite || action == kPythonLock; }

// Of these, the one that woke the thread had to make or take something first.
bool is_for_work(std::string_view action) {
  return !is_lock(action) && action != kJoin && action != kChild && action != kSleep;
}

uint64_t length(int64_t from, int64_t to) { return to > from ? static_cast<uint64_t>(to - from) : 0; }

constexpr uint32_t kNobody = UINT32_MAX;

// The thread ran at its begin, or waited until its end.
struct SeenEvent {
  int64_t begin = 0, end = 0;
  StackId stack = 0;
  bool is_wait = false;
  uint32_t by = kNobody;  // the thread that ended the wait
  int64_t woken = 0;      // by it
  uint32_t program = 0;
};

struct SeenThread {
  std::string name;
  uint64_t pid = 0;
  int64_t period_ns = 0;
  std::vector<SeenEvent> events;
  const analyze::ThreadStates* states = nullptr;
  uint64_t unknown_ns = 0;  // of its waits that another thread of its process ended, maybe for a lock
  bool was_ended = false;   // while it waited, by the end of its program
};

struct SeenStack {
  std::string function;  // of the program
  std::string_view action;
  bool is_end = false;              // the thread or its process ends
  std::vector<uint32_t> functions;  // all of the program, outermost first, each once; none: not known
};

using Sums = std::map<std::string, uint64_t>;

const std::string& largest(const Sums& sums) {
  static const std::string nothing;
  const auto most = std::ranges::max_element(sums, {}, [](const auto& one) { return one.second; });
  return most == sums.end() ? nothing : most->first;
}

class Finder {
 public:
  explicit Finder(const trace::Reader& reader)
      : reader_(reader), places_(reader), states_(analyze::read_thread_states(reader)) {}

  Causes run() {
    read();
    forget_killers();
    find_pauses();
    find_limit();
    find_locks();
    find_bursts();
    return std::move(result_);
  }

  analyze::StatesOfThreads run_states() {
    read();
    return std::move(states_);
  }

 private:
  void read() {
    for (const std::string& key : states_.keys) number_of(key);
    for (const analyze::ThreadStates& one : states_.threads) {
      SeenThread& thread = threads_[number_of(one.key)];
      thread.states = &one;
      thread.name = base::format("thread {}", one.tid);
    }
    for (const trace::EventChunk& chunk : reader_.event_chunks()) read(chunk);
    name_threads();
    add_wake_ups();
  }

  uint32_t number_of(const std::string& key) {
    const auto [entry, is_new] = numbers_.try_emplace(key, static_cast<uint32_t>(threads_.size()));
    if (is_new) threads_.emplace_back();
    return entry->second;
  }

  void read(const trace::EventChunk& chunk) {
    const auto writer = reader_.writers().find(chunk.writer);
    const convert::Place* const place = places_.find(chunk.writer, chunk.track);
    if (chunk.point_count == 0 || writer == reader_.writers().end() || place == nullptr ||
        !SampleStacks::are_in(writer->second))
      return;
    const trace::WriterInfo& info = writer->second;
    const auto domain = info.clocks.find(place->track->clock);
    if (domain == info.clocks.end()) return;
    const trace::ClockMap clock = trace::clock_map(domain->second);
    if (!clock.usable()) return;
    try {
      reader_.read(chunk, batch_, trace::kPoints | trace::kPointValues);
    } catch (const Error&) {
      return;  // read_samples() says so
    }
    SeenThread& thread = threads_[number_of(analyze::thread_key(info, *place->track))];
    thread.name = place->name != place->group->name ? place->name : base::format("thread {}", place->track->tid);
    thread.pid = info.origin.pid;
    thread.period_ns = static_cast<int64_t>(memory::sample_period_ns(reader_, info));
    const uint32_t program = programs_.try_emplace(info.id, static_cast<uint32_t>(programs_.size())).first->second;
    trace::ValueCursor cursor(batch_.points.values);
    for (size_t i = 0; i < batch_.points.size(); ++i) {
      const trace::EventClass* const one = info.find_class(batch_.points.class_id[i]);
      const SampleStacks::Row& row = cursor.next(one);
      if (one == nullptr) continue;
      const SampleStacks::Taken taken = stacks_.take(info, chunk.track, *one, batch_.points.id[i], row);
      const int64_t time = clock.to_monotonic_ns(batch_.points.time[i]);
      if (taken.kind == SampleStacks::Kind::Sample)
        thread.events.push_back({time, time, taken.stack, false, kNobody, 0, program});
      if (taken.kind != SampleStacks::Kind::OffCpu || taken.is_preempted) continue;
      const int64_t end = time + static_cast<int64_t>(taken.ns);
      if (!thread.events.empty() && thread.events.back().is_wait && thread.events.back().end == time)
        thread.events.back().end = end;  // the same wait, after another thread had ended
      else
        thread.events.push_back({time, end, taken.stack, true, kNobody, 0, program});
    }
  }

  // Threads that did not give themselves a name have that of their process.
  void name_threads() {
    std::map<std::string, size_t> counts;
    for (const SeenThread& thread : threads_) ++counts[thread.name];
    for (SeenThread& thread : threads_)
      if (thread.states != nullptr && counts[thread.name] > 1)
        thread.name = base::format("thread {}", thread.states->tid);
  }

  void add_wake_ups() {
    for (SeenThread& thread : threads_)
      std::ranges::stable_sort(thread.events, [](const SeenEvent& a, const SeenEvent& b) {
        return std::tie(a.begin, a.is_wait) < std::tie(b.begin, b.is_wait);
      });
    std::erase_if(states_.handovers, [this](const analyze::Handover& one) {
      std::vector<SeenEvent>& events = threads_[one.waiting].events;
      bool is_wrong = false;
      auto event = std::ranges::lower_bound(events, one.begin, {}, &SeenEvent::begin);
      for (; event != events.end() && event->begin == one.begin; ++event) {
        if (!event->is_wait) continue;
        is_wrong = one.is_guess && !may_wait_for_end(stack(event->stack).action);
        if (!is_wrong) event->by = one.by, event->woken = one.woken;
      }
      return is_wrong;
    });
  }

  // The thread that ends its program, or runs another one, wakes all others so that they end too. It held nothing.
  void forget_killers() {
    std::vector<int64_t> last(programs_.size());  // when a thread of the program did something
    for (const SeenThread& thread : threads_)
      for (auto event = thread.events.rbegin(); event != thread.events.rend(); ++event)
        if (last[event->program] < event->begin && !stack(event->stack).is_end) last[event->program] = event->begin;
    for (SeenThread& thread : threads_)
      for (SeenEvent& event : thread.events)
        if (event.by != kNobody && threads_[event.by].pid == thread.pid && event.woken >= last[event.program] &&
            !may_wait_for_end(stack(event.stack).action)) {
          event.by = kNobody;
          thread.was_ended = true;
        }
  }

  const SeenStack& stack(StackId id) {
    const auto [entry, is_new] = known_.try_emplace(id);
    SeenStack& one = entry->second;
    if (!is_new || id == 0) return one;
    std::vector<symbols::Frame> frames = all_stacks_.frames(id);
    one.function = own_function(frames);
    one.action = action_of(frames);
    one.is_end = std::ranges::any_of(frames, [](const symbols::Frame& frame) { return is_end(frame.function); });
    if (!frames.empty() && memory::Stacks::is_cut(frames.back())) return one;
    for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
      if (frame->inlined || !is_own(*frame)) continue;
      const auto [number, is_first] = functions_.try_emplace(frame->function, static_cast<uint32_t>(functions_.size()));
      if (is_first) names_.push_back(frame->function);
      if (std::ranges::find(one.functions, number->second) == one.functions.end())
        one.functions.push_back(number->second);
    }
    return one;
  }

  // Backwards from a time of a thread, through the threads that ended its waits. Takes each wait, with its thread and
  // whether another one ended it.
  template <typename Take>
  void walk_back(uint32_t thread, int64_t time, int64_t until, const Take& take) const {
    for (bool goes_on = true; goes_on && time > until;) {
      goes_on = false;
      const std::vector<SeenEvent>& events = threads_[thread].events;
      for (auto event = std::ranges::lower_bound(events, time, {}, &SeenEvent::begin); event != events.begin();) {
        if (--event; !event->is_wait || event->begin >= time) continue;
        goes_on = event->by != kNobody && event->woken < time;
        take(thread, *event, goes_on, std::max(event->begin, until), std::min(event->end, time));
        if (goes_on) time = event->woken, thread = event->by;
        if (goes_on || event->begin <= until) break;
      }
    }
  }

  // What the program waits for while all of its threads wait. A thread that only looks around ends no pause.
  void find_pauses() {
    constexpr int64_t kShortRun = 20;  // a part of the pause before it
    struct Sum {
      uint64_t count = 0, ns = 0;
    };
    std::map<std::tuple<std::string, std::string, std::string_view>, Sum> sums;
    const std::vector<analyze::ThreadsTogether::Pause> pauses = analyze::together(states_.threads).pauses;
    for (size_t i = 0; i < pauses.size(); ++i) {
      const int64_t begin = pauses[i].begin;
      while (i + 1 < pauses.size() &&
             pauses[i + 1].begin - pauses[i].end < (pauses[i].end - pauses[i].begin) / kShortRun)
        ++i;
      const auto take = [&](uint32_t thread, const SeenEvent& wait, bool goes_on, int64_t from, int64_t to) {
        if (goes_on) return;
        const SeenStack& where = stack(wait.stack);
        Sum& sum = sums[{where.function, threads_[thread].name, where.action}];
        sum.count += 1;
        sum.ns += length(from, to);
      };
      walk_back(numbers_.at(states_.threads[pauses[i].thread].key), pauses[i].end, begin, take);
    }
    for (const auto& [what, sum] : sums) {
      const auto& [function, thread, action] = what;
      result_.waiting.push_back({function, thread, sum.ns, std::string(action), sum.count});
    }
    std::ranges::stable_sort(result_.waiting, std::ranges::greater(), &analyze::SampledFunctions::Function::ns);
  }

  // How long a thread that does not wait ran: it may have been ready while others ran.
  uint64_t running(uint32_t number, int64_t begin, int64_t end) const {
    const analyze::ThreadStates* const states = threads_[number].states;
    if (states == nullptr || states->spans.empty()) return length(begin, end);
    uint64_t ns = 0;
    auto span = std::ranges::lower_bound(states->spans, begin, {}, &analyze::StateSpan::end);
    for (; span != states->spans.end() && span->begin < end; ++span)
      if (span->state == analyze::ThreadState::Running)
        ns += length(std::max(begin, span->begin), std::min(end, span->end));
    return ns;
  }

  // ---- Locks ----

  bool waits_for_lock(const SeenEvent& event) {
    if (!event.is_wait) return false;
    const SeenStack& where = stack(event.stack);
    return is_lock(where.action) || (!mutual_.empty() && event.by != kNobody && where.function == mutual_);
  }

  struct Lock {
    WaitedLock result;
    std::map<std::pair<std::string, std::string>, uint64_t> holding;  // by thread and function
    std::map<uint32_t, uint64_t> threads;                             // that wait
  };

  void find_locks() {
    std::map<std::tuple<uint64_t, std::string, std::string_view>, Lock> locks;
    for (uint32_t number = 0; number < threads_.size(); ++number)
      for (const SeenEvent& event : threads_[number].events) {
        if (event.is_wait && event.stack == 0 && event.by != kNobody && threads_[event.by].pid == threads_[number].pid)
          threads_[number].unknown_ns += length(event.begin, event.end);
        if (event.is_wait && event.stack != 0) result_.stacked_ns += length(event.begin, event.end);
        if (!waits_for_lock(event)) continue;
        const SeenStack& where = stack(event.stack);
        Lock& lock = locks[{threads_[number].pid, where.function, where.action}];
        const uint64_t ns = length(event.begin, event.end);
        lock.result.kind = where.action == kMutex        ? "mutex"
                           : where.action == kPythonLock ? kLockOfPython
                           : where.action == kReadWrite  ? "read-write lock"
                                                         : "lock";
        lock.result.pid = threads_[number].pid;
        ++lock.result.count;
        lock.result.total_ns += ns;
        lock.result.longest_ns = std::max(lock.result.longest_ns, ns);
        lock.result.longest_thread_ns = std::max(lock.result.longest_thread_ns, lock.threads[number] += ns);
        add_holders(event, lock);
      }
    for (auto& [key, lock] : locks) {
      for (const auto& [number, ns] : lock.threads) {
        const uint64_t all_ns = ns + threads_[number].unknown_ns, longest_ns = lock.result.longest_thread_ns;
        lock.result.maybe_ns = std::max(lock.result.maybe_ns, all_ns - std::min(all_ns, longest_ns));
      }
      lock.result.waiting.push_back({"", std::get<1>(key), lock.result.total_ns});
      for (const auto& [where, ns] : lock.holding) lock.result.holding.push_back({where.first, where.second, ns});
      std::ranges::stable_sort(lock.result.holding, std::ranges::greater(), &WaitedLock::Place::ns);
      result_.locks.push_back(std::move(lock.result));
    }
    std::ranges::stable_sort(result_.locks, std::ranges::greater(), &WaitedLock::total_ns);
  }

  // Backwards from the end of a wait.
  void add_holders(const SeenEvent& wait, Lock& lock) {
    uint32_t holder = wait.by;
    int64_t until = wait.woken;
    for (int step = 0; step < kMostSteps && holder != kNobody && until > wait.begin; ++step) {
      const std::vector<SeenEvent>& events = threads_[holder].events;
      auto before = std::ranges::lower_bound(events, until, {}, &SeenEvent::begin);
      const SeenEvent* own = nullptr;  // its last wait for a lock
      while (before != events.begin() && own == nullptr && std::prev(before)->end > wait.begin)
        if (--before; waits_for_lock(*before)) own = &*before;
      const int64_t since = own != nullptr ? std::clamp(own->end, wait.begin, until) : wait.begin;
      each_place(events, since, until, [&](const SeenEvent* where, int64_t from, int64_t to) {
        lock.holding[{threads_[holder].name, stack(where == nullptr ? 0 : where->stack).function}] += length(from, to);
      });
      if (own == nullptr) return;
      holder = own->by;
      until = std::min(own->woken, since);
    }
  }

  // ---- Threads that wait for others ----

  struct Waiting {
    uint64_t ns = 0, count = 0;
    std::map<uint32_t, uint64_t> by;
  };

  uint32_t top(const Waiting& waiting) const {
    const auto most = std::ranges::max_element(waiting.by, {}, [](const auto& one) { return one.second; });
    return most == waiting.by.end() ? kNobody : most->first;
  }

  void find_limit() {
    std::vector<Waiting> all(threads_.size());
    for (uint32_t number = 0; number < threads_.size(); ++number)
      for (const SeenEvent& event : threads_[number].events) {
        if (!event.is_wait || event.by == kNobody || event.by == number || !is_for_work(stack(event.stack).action))
          continue;
        const uint64_t ns = length(event.begin, event.woken);
        all[number].ns += ns;
        ++all[number].count;
        all[number].by[event.by] += ns;
      }
    const std::unordered_set<uint32_t> on_path = threads_of_path();
    double running = 0, could_run = 0;  // on a busy machine, all threads run for less of their lives
    for (const SeenThread& one : threads_) {
      if (one.states == nullptr) continue;
      running += static_cast<double>(one.states->running_ns);
      could_run += static_cast<double>(one.states->running_ns + one.states->preempted_ns);
    }
    uint32_t waiting = kNobody;
    for (uint32_t number = 0; number < threads_.size(); ++number) {
      const analyze::ThreadStates* const states = threads_[number].states;
      const Waiting& one = all[number];
      if (states == nullptr || one.count < kFewestWaits || one.ns < states->life_ns() / 10) continue;
      // One that only waits for work, such as a writer of logs, holds up nobody.
      const double runs = static_cast<double>(states->running_ns) * could_run;
      if (runs < static_cast<double>(states->life_ns()) * running / 20 && !on_path.contains(number)) continue;
      if (waiting == kNobody || one.ns > all[waiting].ns) waiting = number;
    }
    if (waiting == kNobody) return;
    // That one may wait for a third one.
    std::unordered_set<uint32_t> seen{waiting};
    uint32_t next = top(all[waiting]);
    while (all[next].count >= kFewestWaits && all[next].ns >= all[waiting].ns / 2) {
      waiting = next;
      next = top(all[next]);
      if (seen.insert(waiting).second) continue;
      // They wait for each other in turn: for something that one at a time can have.
      mutual_ = state(waiting, all[waiting]).waiting_function;
      result_.limit = {};
      return;
    }
    state(waiting, all[waiting]);
  }

  const analyze::SampledFunctions::Limit& state(uint32_t number, const Waiting& waiting) {
    analyze::SampledFunctions::Limit& limit = result_.limit;
    limit.waiting = threads_[number].name;
    limit.by = threads_[top(waiting)].name;
    limit.others = waiting.by.size() - 1;
    limit.ns = waiting.ns;
    limit.count = waiting.count;
    Sums own;
    std::map<std::pair<std::string, std::string_view>, uint64_t> meanwhile;
    for (const SeenEvent& event : threads_[number].events) {
      if (!event.is_wait || event.by == kNobody || event.by == number) continue;
      const SeenStack& where = stack(event.stack);
      if (!is_for_work(where.action)) continue;
      if (!where.function.empty()) own[where.function] += length(event.begin, event.woken);
      const auto add = [&](const SeenEvent* at, int64_t from, int64_t to) {
        if (at == nullptr || at->stack == 0) return;
        const bool waits = at->is_wait && from >= at->begin;
        const uint64_t ns = waits ? length(from, to) : running(event.by, from, to);
        meanwhile[{stack(at->stack).function, stack(at->stack).action}] += ns;
        limit.ready_ns += length(from, to) - std::min(ns, length(from, to));
      };
      each_place(threads_[event.by].events, event.begin, event.woken, add);
    }
    limit.waiting_function = largest(own);
    const auto most = std::ranges::max_element(meanwhile, {}, [](const auto& one) { return one.second; });
    if (most == meanwhile.end()) return limit;
    limit.function = most->first.first;
    limit.action = most->first.second;
    limit.function_ns = most->second;
    return limit;
  }

  // Backwards from the end of the thread that lives longest: those that waited for others. Not those that only did what
  // the thread that then waited for them had asked for, and not helpers that waited until the program ended.
  std::unordered_set<uint32_t> threads_of_path() const {
    std::unordered_set<uint32_t> found;
    const auto last = std::ranges::max_element(threads_, {}, [](const SeenThread& one) {
      return one.states == nullptr ? uint64_t{0} : one.states->life_ns();
    });
    if (last == threads_.end() || last->states == nullptr) return found;
    uint32_t asking = kNobody;
    walk_back(static_cast<uint32_t>(last - threads_.begin()), last->states->end_ns, INT64_MIN,
              [&](uint32_t thread, const SeenEvent& wait, bool goes_on, auto...) {
                if (goes_on && wait.by != asking && !threads_[thread].was_ended) found.insert(thread);
                if (goes_on) asking = thread;
              });
    return found;
  }

  // ---- Bursts ----

  struct Seen {
    size_t last = 0;  // event, counted from 1
    uint64_t begin = 0, end = 0;
    uint64_t ns = 0, waiting_ns = 0;  // of all
    std::map<std::string_view, uint64_t> actions;
    std::vector<std::pair<uint64_t, uint64_t>> runs;  // that are long enough
    void finish() {
      if (end - begin >= kShortestBurst) runs.emplace_back(begin, end);
    }
  };

  // The thread that used the CPU most, of those that lived for half of the time.
  uint32_t main_thread() const {
    uint64_t longest = 0;
    for (const SeenThread& one : threads_)
      longest = std::max(longest, one.states == nullptr ? 0 : one.states->life_ns());
    uint32_t found = kNobody;
    for (uint32_t i = 0; i < threads_.size(); ++i) {
      const analyze::ThreadStates* const states = threads_[i].states;
      if (states == nullptr || states->life_ns() < longest / 2) continue;
      if (found == kNobody || states->running_ns > threads_[found].states->running_ns) found = i;
    }
    return found;
  }

  // On a clock that stands still while others run.
  void find_bursts() {
    const uint32_t number = main_thread();
    if (number == kNobody) return;
    const SeenThread& thread = threads_[number];
    std::vector<Seen> all;
    uint64_t now = 0;
    size_t count = 0;
    for (const SeenEvent& event : thread.events) {
      const uint64_t ns = event.is_wait ? length(event.begin, event.end) : static_cast<uint64_t>(thread.period_ns);
      const uint64_t begin = std::exchange(now, now + ns);
      const SeenStack& where = stack(event.stack);
      if (event.is_wait && event.stack == 0) ++count;  // none of the functions goes on for sure
      if (where.functions.empty()) continue;           // not known: it may be inside of any of them
      ++count;
      for (const uint32_t function : where.functions) {
        if (function >= all.size()) all.resize(function + size_t{1});
        Seen& seen = all[function];
        if (seen.last + 1 != count || seen.last == 0) {
          seen.finish();
          seen.begin = begin;
        }
        seen.last = count;
        seen.end = now;
        seen.ns += ns;
        if (!event.is_wait) continue;
        seen.waiting_ns += ns;
        seen.actions[where.action] += ns;
      }
    }
    for (uint32_t function = 0; function < all.size(); ++function) {
      all[function].finish();
      if (names_[function].find("+0x") != std::string::npos) continue;  // it has no name
      // The outermost function of several that call each other comes first.
      if (analyze::SampledFunctions::Bursts found = bursts_of(all[function], now);
          found.ns > result_.bursts.ns + result_.bursts.ns / 20) {
        found.function = names_[function];
        result_.bursts = std::move(found);
      }
    }
  }

  // They are about equally long: what is sometimes long by chance is no cause.
  static analyze::SampledFunctions::Bursts bursts_of(Seen& seen, uint64_t all_ns) {
    analyze::SampledFunctions::Bursts found;
    uint64_t longest = 0;
    for (const auto& [begin, end] : seen.runs) longest = std::max(longest, end - begin);
    std::erase_if(seen.runs, [&](const auto& one) { return one.second - one.first < longest / 2; });
    std::vector<uint64_t> lengths, periods;
    for (size_t i = 0; i < seen.runs.size(); ++i) {
      lengths.push_back(seen.runs[i].second - seen.runs[i].first);
      found.ns += lengths.back();
      if (i != 0) periods.push_back(seen.runs[i].first - seen.runs[i - 1].first);
    }
    if (lengths.size() < kFewestBursts || found.ns > all_ns / 2 || found.ns < seen.ns / 10 * 9) return {};
    std::ranges::sort(lengths);
    std::ranges::sort(periods);
    const uint64_t period = periods[periods.size() / 2];
    found.count = lengths.size();
    found.median_ns = lengths[lengths.size() / 2];
    if (period < 2 * found.median_ns) return {};  // the others are the rare ones
    if (periods.back() - periods.front() <= period / 2) found.period_ns = period;
    if (seen.waiting_ns > seen.ns / 2)
      found.action = std::ranges::max_element(seen.actions, {}, [](const auto& one) { return one.second; })->first;
    return found;
  }

  const trace::Reader& reader_;
  convert::Places places_;
  analyze::StatesOfThreads states_;
  memory::Stacks all_stacks_;
  SampleStacks stacks_{all_stacks_, reader_};
  std::unordered_map<std::string, uint32_t> numbers_;  // of threads
  std::map<trace::WriterId, uint32_t> programs_;
  std::vector<SeenThread> threads_;
  std::unordered_map<StackId, SeenStack> known_;
  std::unordered_map<std::string, uint32_t> functions_;
  std::vector<std::string> names_;
  std::string mutual_;  // the function in which threads wait for each other in turn; empty: there is none
  trace::EventBatch batch_;
  Causes result_;
};

}  // namespace

std::string_view action_of(const std::vector<symbols::Frame>& frames) {
  const auto own = innermost_own(frames);
  std::string_view action;
  for (auto frame = own; frame != frames.begin() && action.empty();)
    if (--frame; frame->module.ends_with(".py"))
      action = action_of_python(*frame);
    else
      action = action_of_call(frame->function);
  return action;
}

Causes find_causes(const trace::Reader& reader) { return Finder(reader).run(); }

analyze::StatesOfThreads read_thread_states_and_stacks(const trace::Reader& reader) {
  return Finder(reader).run_states();
}

}  // namespace kymo::functions
