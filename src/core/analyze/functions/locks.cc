#include "analyze/functions/locks.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <tuple>

#include "analyze/functions/functions.h"
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

// Of src/core/heap/preload/waits.cc. Empty: of another kind. A thread sleeps or reads a file without a lock.
std::string_view kind_of(const trace::EventClass& one) {
  if (one.name == "wait for mutex") return "mutex";
  if (one.name == "wait for read lock" || one.name == "wait for write lock") return "read-write lock";
  if (one.name == "wait for condition") return "condition";
  if (one.name == "wait for semaphore") return "semaphore";
  return {};
}

class Reading {
 public:
  explicit Reading(const trace::Reader& reader) : reader_(reader), places_(reader) {}

  WaitedLocks run() {
    if (std::ranges::none_of(reader_.writers(), [](const auto& one) { return has_waits(one.second); }))
      return std::move(result_);
    result_.were_recorded = true;
    for (const trace::EventChunk& chunk : reader_.event_chunks()) {
      const auto writer = reader_.writers().find(chunk.writer);
      const convert::Place* const place = places_.find(chunk.writer, chunk.track);
      if (writer == reader_.writers().end() || place == nullptr) continue;
      if (has_waits(writer->second) || SampleStacks::are_in(writer->second)) read(chunk, writer->second, *place);
    }
    for (auto& [key, thread] : threads_) std::ranges::stable_sort(thread.events, {}, &Event::begin);
    for (const Wait& wait : waits_) add(wait);
    return finish();
  }

 private:
  using ThreadKey = std::pair<const convert::Group*, uint64_t>;

  // What the trace says about a thread at a time: it ran, or it waited.
  struct Event {
    int64_t begin, end;
    StackId stack;
    uint32_t lock;  // that it waited for
  };
  struct Thread {
    std::string name;
    std::vector<Event> events;
  };
  struct Wait {
    int64_t begin, end;
    StackId stack;
    uint32_t lock;
    ThreadKey holder;
  };
  struct Lock {
    WaitedLock result;
    std::map<StackId, uint64_t> waiting;
    std::map<std::pair<ThreadKey, StackId>, uint64_t> holding;
  };
  static constexpr uint32_t kNoLock = UINT32_MAX;

  static bool has_waits(const trace::WriterInfo& writer) {
    return std::ranges::any_of(writer.classes,
                               [](const auto& one) { return SampleStacks::is_recorded_wait(one.second); });
  }

  void read(const trace::EventChunk& chunk, const trace::WriterInfo& info, const convert::Place& place) {
    try {
      reader_.read(
          chunk, batch_,
          trace::kPoints | trace::kPointValues | trace::kRangeTimes | trace::kRangeClasses | trace::kRangeValues);
    } catch (const Error& error) {
      result_.problems.push_back({chunk.offset, chunk.length, error.what()});
      return;
    }
    const auto domain = info.clocks.find(place.track->clock);
    if (domain == info.clocks.end()) return;
    const trace::ClockMap clock = trace::clock_map(domain->second);
    if (!clock.usable()) return;
    const ThreadKey key{place.group, place.track->tid};
    Thread& thread = threads_[key];
    thread.name = place.name != place.group->name ? place.name : base::format("thread {}", place.track->tid);
    trace::ValueCursor points(batch_.points.values), ranges(batch_.ranges.values);
    size_t point = 0;
    const auto take_points = [&](uint64_t until) {  // a range names a node that was stored before its end
      for (; point < batch_.points.size() && batch_.points.time[point] <= until; ++point) {
        const trace::EventClass* const one = info.find_class(batch_.points.class_id[point]);
        const SampleStacks::Row& row = points.next(one);
        if (one == nullptr) continue;
        const SampleStacks::Taken taken = stacks_.take(info, chunk.track, *one, batch_.points.id[point], row);
        if (taken.stack == 0) continue;
        const int64_t time = clock.to_monotonic_ns(batch_.points.time[point]);
        thread.events.push_back({time, time + static_cast<int64_t>(taken.ns), taken.stack, kNoLock});
      }
    };
    for (size_t i = 0; i < batch_.ranges.size(); ++i) {
      const trace::EventClass* const one = info.find_class(batch_.ranges.class_id[i]);
      const SampleStacks::Row& row = ranges.next(one);
      if (one == nullptr || !SampleStacks::is_recorded_wait(*one)) continue;
      const uint64_t end = batch_.ranges.end[i];
      take_points(end);
      const StackId stack = stacks_.take(info, chunk.track, *one, 0, row).stack;
      const int64_t begin_ns = clock.to_monotonic_ns(end - std::min(end, batch_.ranges.duration[i]));
      const int64_t end_ns = std::max(begin_ns, clock.to_monotonic_ns(end));
      const std::string_view kind = kind_of(*one);
      const uint32_t lock = kind.empty() ? kNoLock : lock_at(*place.group, kind, row[0].bits);
      thread.events.push_back({begin_ns, end_ns, stack, lock});
      if (lock != kNoLock) waits_.push_back({begin_ns, end_ns, stack, lock, {place.group, row[2].bits}});
    }
    take_points(UINT64_MAX);
  }

  uint32_t lock_at(const convert::Group& process, std::string_view kind, uint64_t object) {
    const auto [entry, is_new] = numbers_.try_emplace({&process, object, kind}, static_cast<uint32_t>(locks_.size()));
    if (is_new) {
      WaitedLock& made = locks_.emplace_back().result;
      made.kind = kind;
      made.object = object;
      made.pid = process.pid;
    }
    return entry->second;
  }

  void add(const Wait& wait) {
    Lock& lock = locks_[wait.lock];
    const auto ns = static_cast<uint64_t>(wait.end - wait.begin);
    ++lock.result.count;
    lock.result.total_ns += ns;
    lock.result.longest_ns = std::max(lock.result.longest_ns, ns);
    lock.waiting[wait.stack] += ns;
    if (lock.result.excludes()) lock.holding[{wait.holder, where(wait)}] += ns;
  }

  // The stack of the holder, from what is known about it first. 0: nothing.
  StackId where(const Wait& wait) const {
    const auto found = threads_.find(wait.holder);
    if (wait.holder.second == 0 || found == threads_.end()) return 0;
    const std::vector<Event>& events = found->second.events;
    // Waits of a thread do not overlap: only the last event that began before may still last.
    auto first = std::ranges::lower_bound(events, wait.begin, {}, &Event::begin);
    if (first != events.begin() && std::prev(first)->end > wait.begin) --first;
    return first != events.end() && first->begin < wait.end && first->lock != wait.lock ? first->stack : 0;
  }

  WaitedLocks finish() {
    const auto most = [](std::vector<WaitedLock::Place>& all) {
      std::ranges::stable_sort(all, std::ranges::greater(), &WaitedLock::Place::ns);
    };
    for (Lock& lock : locks_) {
      std::map<std::string, uint64_t> waiting;
      std::map<std::pair<std::string, std::string>, uint64_t> holding;
      for (const auto& [stack, ns] : lock.waiting) waiting[name_of(stack)] += ns;
      for (const auto& [where, ns] : lock.holding) {
        const auto thread = threads_.find(where.first);
        holding[{thread != threads_.end() ? thread->second.name : "", name_of(where.second)}] += ns;
      }
      for (const auto& [function, ns] : waiting) lock.result.waiting.push_back({"", function, ns});
      for (const auto& [where, ns] : holding) lock.result.holding.push_back({where.first, where.second, ns});
      most(lock.result.waiting);
      most(lock.result.holding);
      result_.locks.push_back(std::move(lock.result));
    }
    std::ranges::stable_sort(result_.locks, std::ranges::greater(), &WaitedLock::total_ns);
    return std::move(result_);
  }

  const std::string& name_of(StackId stack) {
    const auto [entry, is_new] = names_.try_emplace(stack);
    if (is_new && stack != 0) entry->second = own_function(all_stacks_.frames(stack));
    return entry->second;
  }

  const trace::Reader& reader_;
  convert::Places places_;
  memory::Stacks all_stacks_;
  SampleStacks stacks_{all_stacks_, reader_};
  std::map<ThreadKey, Thread> threads_;
  std::map<std::tuple<const convert::Group*, uint64_t, std::string_view>, uint32_t> numbers_;
  std::vector<Lock> locks_;
  std::vector<Wait> waits_;
  std::map<StackId, std::string> names_;
  WaitedLocks result_;
  trace::EventBatch batch_;
};

}  // namespace

WaitedLocks read_locks(const trace::Reader& reader) { return Reading(reader).run(); }

}  // namespace kymo::functions
