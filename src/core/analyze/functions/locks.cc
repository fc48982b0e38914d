#include "analyze/functions/locks.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <string_view>
#include <tuple>

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

constexpr std::string_view kReadLock = "wait for read lock";

// Of src/core/heap/preload/waits.cc. Empty: of another kind. A thread sleeps or reads a file without a lock.
std::string_view kind_of(const trace::EventClass& one) {
  if (one.name == "wait for mutex") return "mutex";
  if (one.name == kReadLock || one.name == "wait for write lock") return "read-write lock";
  if (one.name == "wait for condition") return "condition";
  if (one.name == "wait for semaphore") return "semaphore";
  return {};
}

// Imported files have addresses as texts: "0x7f00".
uint64_t address_of(const trace::ValueCursor::Value& object) {
  uint64_t address = object.bits;
  if (object.text.starts_with("0x"))
    std::from_chars(object.text.data() + 2, object.text.data() + object.text.size(), address, 16);
  return address;
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
    add_unfinished();
    for (auto& [key, thread] : threads_) std::ranges::stable_sort(thread.events, {}, &Event::begin);
    for (const Wait& wait : waits_) add(wait);
    for (uint32_t number = 0; number < locks_.size(); ++number)
      if (locks_[number].result.excludes()) add_holders(number);
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
    ThreadKey thread;
  };
  // The begin or the end of a wait, and who holds the lock from then on.
  struct Change {
    int64_t time;
    bool is_end;
    ThreadKey holder;
  };
  struct Lock {
    WaitedLock result;
    std::vector<Change> changes;
    std::map<StackId, uint64_t> waiting;
    std::map<std::pair<ThreadKey, StackId>, uint64_t> holding;
    std::map<ThreadKey, uint64_t> threads;  // that wait
  };
  static constexpr uint32_t kNoLock = UINT32_MAX;

  static bool has_waits(const trace::WriterInfo& writer) {
    return std::ranges::any_of(writer.classes,
                               [](const auto& one) { return SampleStacks::is_recorded_wait(one.second); });
  }

  void read(const trace::EventChunk& chunk, const trace::WriterInfo& info, const convert::Place& place) {
    try {
      reader_.read(chunk, batch_,
                   trace::kPoints | trace::kPointValues | trace::kRangeTimes | trace::kRangeClasses |
                       trace::kRangeValues | trace::kOpenStacks);
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
      keep_wait(*one, row, {begin_ns, end_ns, stack, kNoLock, key}, true);
    }
    take_points(UINT64_MAX);
    open_[{chunk.writer, chunk.track}] = std::move(batch_.closing);
  }

  void keep_wait(const trace::EventClass& one, const SampleStacks::Row& row, Wait wait, bool has_ended) {
    const convert::Group* const process = wait.thread.first;
    const std::string_view kind = kind_of(one);
    if (!kind.empty()) wait.lock = lock_at(*process, kind, address_of(row[0]));
    threads_[wait.thread].events.push_back({wait.begin, wait.end, wait.stack, wait.lock});
    if (wait.lock == kNoLock) return;
    waits_.push_back(wait);
    Lock& lock = locks_[wait.lock];
    lock.result.unfinished += has_ended ? 0 : 1;
    lock.changes.push_back({wait.begin, false, {process, row[2].bits}});
    lock.changes.push_back({wait.end, true, has_ended && one.name != kReadLock ? wait.thread : ThreadKey{}});
  }

  // Waits that were open at the end of the trace.
  void add_unfinished() {
    if (open_.empty()) return;
    const std::map<trace::WriterId, int64_t> alive = trace::last_alive_ns(reader_);
    for (const auto& [where, ranges] : open_) {
      const trace::WriterInfo& info = reader_.writers().at(where.first);
      const convert::Place& place = *places_.find(where.first, where.second);
      const auto end = alive.find(where.first);
      if (end == alive.end()) continue;
      const trace::ClockMap clock = trace::clock_map(info.clocks.at(place.track->clock));
      for (const trace::OpenRange& range : ranges) {
        const trace::EventClass* const one = info.find_class(range.class_id);
        if (one == nullptr || !SampleStacks::is_recorded_wait(*one)) continue;
        const trace::Values values{range.ints, range.doubles, range.text};
        trace::ValueCursor cursor(values);
        const SampleStacks::Row& row = cursor.next(one);
        const int64_t begin = clock.to_monotonic_ns(range.start);
        const ThreadKey thread{place.group, place.track->tid};
        StackId stack = stacks_.take(info, where.second, *one, 0, row).stack;
        if (stack == 0) stack = stack_after(threads_[thread].events, begin);
        keep_wait(*one, row, {begin, std::max(begin, end->second), stack, kNoLock, thread}, false);
      }
    }
  }

  // Where the kernel saw the thread stop.
  static StackId stack_after(const std::vector<Event>& events, int64_t begin) {
    const auto found = std::ranges::find_if(events, [&](const Event& one) { return one.begin >= begin; });
    return found != events.end() ? found->stack : 0;
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
    lock.result.longest_thread_ns = std::max(lock.result.longest_thread_ns, lock.threads[wait.thread] += ns);
  }

  // A part of the time in which one thread holds a lock, and for how many others.
  struct Piece {
    int64_t end;
    uint64_t waiting;
  };

  // Each nanosecond counts once for each thread that waits then.
  void add_holders(uint32_t number) {
    std::vector<Change>& changes = locks_[number].changes;
    std::ranges::stable_sort(changes, {}, &Change::time);
    ThreadKey holder;
    std::vector<Piece> pieces;
    int64_t begin = 0, last = 0;
    uint64_t waiting = 0;
    for (const Change& change : changes) {
      const bool is_new = waiting == 0 || (change.holder.second != 0 && change.holder != holder);
      if (waiting != 0 && change.time > last) pieces.push_back({change.time, waiting});
      last = change.time;
      waiting += change.is_end ? uint64_t{0} - 1 : 1;
      if (waiting != 0 && !is_new) continue;
      add_places(number, holder, begin, pieces);
      pieces.clear();
      begin = last;
      if (is_new) holder = change.holder;
    }
  }

  // Where a holder was from one time to another. While it waits for the same lock, that is not known.
  void add_places(uint32_t number, const ThreadKey& holder, int64_t begin, const std::vector<Piece>& pieces) {
    if (pieces.empty()) return;
    std::map<std::pair<ThreadKey, StackId>, uint64_t>& holding = locks_[number].holding;
    auto piece = pieces.begin();
    const auto add_until = [&](StackId stack, int64_t until) {
      while (begin < until) {
        const int64_t to = std::min(until, piece->end);
        holding[{holder, stack}] += static_cast<uint64_t>(to - begin) * piece->waiting;
        begin = to;
        if (to == piece->end) ++piece;
      }
    };
    const int64_t end = pieces.back().end;
    const auto found = threads_.find(holder);
    if (holder.second == 0 || found == threads_.end()) return add_until(0, end);
    each_place(found->second.events, begin, end, [&](const Event* where, int64_t, int64_t to) {
      add_until(where != nullptr && where->lock != number ? where->stack : 0, to);
    });
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
  std::map<std::pair<trace::WriterId, uint32_t>, std::vector<trace::OpenRange>> open_;  // at the end of each track
  std::map<StackId, std::string> names_;
  WaitedLocks result_;
  trace::EventBatch batch_;
};

}  // namespace

WaitedLocks read_locks(const trace::Reader& reader) { return Reading(reader).run(); }

}  // namespace kymo::functions
