#include "analyze/thread_states.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "analyze/decode_ahead.h"
#include "base/text.h"
#include "trace/clock.h"
#include "trace/model.h"

namespace kymo::analyze {
namespace {

constexpr size_t kMaxSpans = size_t{1} << 24;
constexpr int64_t kEarliest = std::numeric_limits<int64_t>::min() / 4,
                  kLatest = std::numeric_limits<int64_t>::max() / 4;
constexpr size_t kNoHandover = SIZE_MAX;

// Times of a forged trace: no sum of them overflows.
int64_t bounded(int64_t time) { return std::clamp(time, kEarliest, kLatest); }
int64_t after(int64_t time, uint64_t ns) {
  return static_cast<int64_t>(std::min<uint64_t>(ns, static_cast<uint64_t>(kLatest - time))) + time;
}
int64_t before(int64_t time, uint64_t ns) {
  return time - static_cast<int64_t>(std::min<uint64_t>(ns, static_cast<uint64_t>(time - kEarliest)));
}
uint64_t sum(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }
uint64_t between(int64_t from, int64_t to) { return to > from ? static_cast<uint64_t>(to - from) : 0; }

enum class Meaning : uint8_t { None, Sample, OnCpu, OffCpu, WakeUp, Ready };

Meaning meaning_of(const trace::EventClass& one) {
  if (one.category != "cpu") return Meaning::None;
  const auto has = [&](size_t at, std::string_view name) {
    return one.fields.size() > at && one.fields[at].name == name && one.fields[at].type != trace::FieldType::String &&
           one.fields[at].type != trace::FieldType::Double;
  };
  if (one.name == "sample" && has(0, "node")) return Meaning::Sample;
  if (one.name == "on CPU" && has(0, "ns")) return Meaning::OnCpu;
  if (one.name == "ready" && has(0, "ns")) return Meaning::Ready;
  if (one.name == "wake-up" && has(0, "pid") && has(1, "tid")) return Meaning::WakeUp;
  return one.name == "off CPU" && has(0, "ns") && has(1, "preempted") ? Meaning::OffCpu : Meaning::None;
}

// Of src/core/heap/preload/waits.cc: only one thread at a time holds the lock.
bool is_wait_for_lock(const trace::EventClass& one) {
  return one.category == "wait" && one.fields.size() == 3 && one.fields[2].name == "holder" &&
         one.fields[2].type == trace::FieldType::UInt &&
         (one.name == "wait for mutex" || one.name == "wait for read lock" || one.name == "wait for write lock");
}

// A process without a pid, of another tool's trace, is not the same as another one.
std::string key_of(const trace::WriterInfo& writer, uint64_t pid, uint64_t tid) {
  return base::format("{}\n{}\n{}{}\n{}", writer.origin.host, writer.origin.boot_id, pid,
                      pid == 0 ? writer.id.hex() : std::string(), tid);
}

struct Thread {
  ThreadStates states;
  uint32_t number = 0;      // in StatesOfThreads::keys
  bool has_time = false;    // on or off the processors
  bool has_record = false;  // any
  uint64_t ready_ns = 0;    // of its waits, somewhere
  void live(int64_t from, int64_t to) {
    states.begin_ns = has_record ? std::min(states.begin_ns, from) : from;
    states.end_ns = has_record ? std::max(states.end_ns, to) : to;
    has_record = true;
  }
};

// A track of the sampler. It states the time on the processors now and then: a piece is what is between two statements.
struct Track {
  Thread* thread = nullptr;
  trace::ClockMap clock;
  std::map<uint32_t, Meaning> meanings;  // by class
  std::set<uint32_t> locks;              // classes of waits for locks
  std::optional<int64_t> begin;          // of the piece; nothing: of the first one
  std::optional<int64_t> first;          // record of the piece
  std::vector<StateSpan> off;
  std::vector<int64_t> samples;
  int64_t off_until = kEarliest;
  struct {
    int64_t begin = kEarliest;
    uint64_t end_ticks = 0;
  } last_off;
  size_t handover = kNoHandover;  // that ended it
};

class Reading {
 public:
  explicit Reading(const trace::Reader& reader) : reader_(reader) {}

  StatesOfThreads run() {
    std::vector<trace::EventChunk> chunks;
    std::vector<uint32_t> numbers;  // of the chunks, of all
    for (const trace::EventChunk& chunk : reader_.event_chunks())
      if (Track* const track = track_of(chunk)) {
        if (chunk.range_count + chunk.point_count != 0)
          track->thread->live(time_of(*track, chunk.first), time_of(*track, chunk.last));
        const bool has_points = !track->meanings.empty() && chunk.point_count != 0;
        if (!has_points && (track->locks.empty() || chunk.range_count == 0)) continue;
        chunks.push_back(chunk);
        numbers.push_back(static_cast<uint32_t>(&chunk - reader_.event_chunks().data()));
      }
    DecodeAhead decoded(chunks, [this](const auto& chunk, auto& into) {
      const bool has_locks = !tracks_.at({chunk.writer, chunk.track}).locks.empty();
      reader_.read(chunk, into,
                   trace::kPoints | trace::kPointValues |
                       (has_locks ? trace::kRangeTimes | trace::kRangeClasses | trace::kRangeValues : 0));
    });
    while (const DecodeAhead::Item* const item = decoded.next())
      if (item->error.empty())
        read(*item->chunk, numbers[static_cast<size_t>(item->chunk - chunks.data())], item->batch);
    return finish();
  }

 private:
  static int64_t time_of(const Track& track, uint64_t ticks) { return bounded(track.clock.to_monotonic_ns(ticks)); }

  // Null: it is no thread, or its clock is not known.
  Track* track_of(const trace::EventChunk& chunk) {
    const auto [entry, is_new] = tracks_.try_emplace({chunk.writer, chunk.track});
    Track& track = entry->second;
    if (!is_new) return track.thread == nullptr ? nullptr : &track;
    const auto writer = reader_.writers().find(chunk.writer);
    if (writer == reader_.writers().end()) return nullptr;
    const trace::WriterInfo& info = writer->second;
    const auto described = info.tracks.find(chunk.track);
    if (described == info.tracks.end() || described->second.kind != trace::TrackKind::Thread) return nullptr;
    const auto clock = info.clocks.find(described->second.clock);
    if (clock == info.clocks.end()) return nullptr;
    track.clock = trace::clock_map(clock->second);
    if (!track.clock.usable()) return nullptr;
    for (const auto& [id, one] : info.classes) {
      if (const Meaning meaning = meaning_of(one); meaning != Meaning::None) track.meanings[id] = meaning;
      if (is_wait_for_lock(one)) track.locks.insert(id);
    }
    track.thread = &thread_of(thread_key(info, described->second));
    ThreadStates& states = track.thread->states;
    if (states.name.empty() || !track.meanings.empty()) {
      states.program = trace::program_name(info.origin);
      states.name =
          described->second.name.empty() ? base::format("thread {}", described->second.tid) : described->second.name;
      states.pid = info.origin.pid;
      states.tid = described->second.tid;
      states.writer = info.id;
      states.track = chunk.track;
    }
    return &track;
  }

  Thread& thread_of(const std::string& key) {
    const auto [entry, is_new] = threads_.try_emplace(key);
    if (is_new) {
      entry->second.number = static_cast<uint32_t>(result_.keys.size());
      result_.keys.push_back(key);
    }
    return entry->second;
  }

  // Returns its number.
  size_t add_handover(const Track& track, const trace::WriterInfo& info, uint64_t pid, uint64_t tid, int64_t begin,
                      int64_t end) {
    if (!result_.are_placed || begin >= end) return kNoHandover;
    const uint32_t by = thread_of(key_of(info, pid, tid)).number;
    if (by == track.thread->number) return kNoHandover;
    result_.handovers.push_back({track.thread->number, by, begin, end, end, false});
    if (++count_ > kMaxSpans) forget_places();
    return result_.handovers.size() - 1;
  }

  // A thread that waits for a lock is woken by the one that held it. When exactly is not recorded.
  void read_locks(const Track& track, const trace::WriterInfo& info, const trace::EventBatch& batch) {
    trace::ValueCursor cursor(batch.ranges.values);
    for (size_t i = 0; i < batch.ranges.size(); ++i) {
      const trace::EventClass* const one = info.find_class(batch.ranges.class_id[i]);
      const std::vector<trace::ValueCursor::Value>& row = cursor.next(one);
      if (one == nullptr || row.size() != one->fields.size() || !track.locks.contains(one->id) || row[2].bits == 0)
        continue;
      const uint64_t last = batch.ranges.end[i];
      add_handover(track, info, info.origin.pid, row[2].bits,
                   time_of(track, last - std::min(last, batch.ranges.duration[i])), time_of(track, last));
    }
  }

  void read(const trace::EventChunk& chunk, uint32_t number, const trace::EventBatch& batch) {
    Track& track = tracks_.at({chunk.writer, chunk.track});
    const trace::WriterInfo& info = reader_.writers().at(chunk.writer);
    if (!track.locks.empty()) read_locks(track, info, batch);
    trace::ValueCursor cursor(batch.points.values);
    for (size_t i = 0; i < batch.points.size(); ++i) {
      const trace::EventClass* const event_class = info.find_class(batch.points.class_id[i]);
      const std::vector<trace::ValueCursor::Value>& row = cursor.next(event_class);
      if (event_class == nullptr || row.size() != event_class->fields.size()) continue;
      const auto meaning = track.meanings.find(event_class->id);
      if (meaning == track.meanings.end()) continue;
      const int64_t time = time_of(track, batch.points.time[i]);
      if (meaning->second == Meaning::WakeUp) {
        // It follows the wait, and then the time in which the thread was ready. At its begin, the thread was created.
        if (track.last_off.begin == kEarliest || track.last_off.end_ticks == batch.points.time[i])
          track.handover = add_handover(track, info, row[0].bits, row[1].bits, track.last_off.begin, time);
        continue;
      }
      if (meaning->second == Meaning::Ready) {
        track.thread->ready_ns = sum(track.thread->ready_ns, row[0].bits);
        continue;
      }
      if (meaning->second == Meaning::OffCpu) {
        track.last_off = {time, sum(batch.points.time[i], row[0].bits)};
        const size_t handover = std::exchange(track.handover, kNoHandover);
        if (handover < result_.handovers.size() && result_.handovers[handover].end == time) {
          result_.handovers[handover].end = after(time, row[0].bits);
          result_.handovers[handover].is_guess = row[1].bits == 0;  // how long the thread was ready is not known
        }
      }
      if (meaning->second == Meaning::Sample)
        keep(track.samples, time);
      else if (meaning->second == Meaning::OffCpu)
        add_off(track,
                {time, after(time, row[0].bits), row[1].bits != 0 ? ThreadState::Preempted : ThreadState::Waiting,
                 number, static_cast<uint32_t>(i)});
      track.first = std::min(track.first.value_or(time), time);
      if (meaning->second == Meaning::OnCpu) end_piece(track, time, row[0].bits);
    }
  }

  template <typename One>
  void keep(std::vector<One>& all, const One& one) {
    if (result_.are_placed) all.push_back(one);
  }

  // If records were lost, two of these times may overlap: each moment counts once.
  void add_off(Track& track, StateSpan span) {
    ThreadStates& states = track.thread->states;
    track.thread->has_time = true;
    track.thread->live(span.begin, span.end);
    span.begin = std::max(span.begin, track.off_until);
    if (span.begin >= span.end) return;
    uint64_t& to = span.state == ThreadState::Preempted ? states.preempted_ns : states.waiting_ns;
    to = sum(to, between(span.begin, span.end));
    track.off_until = span.end;
    keep(track.off, span);
  }

  // The thread was on a processor for so long since the last statement, or since it began.
  void end_piece(Track& track, int64_t end, uint64_t on_ns) {
    Thread& thread = *track.thread;
    thread.states.running_ns = sum(thread.states.running_ns, on_ns);
    thread.has_time = true;
    uint64_t off_ns = 0;  // one may begin at the end of the piece
    for (const StateSpan& off : track.off) off_ns = sum(off_ns, between(off.begin, std::min(off.end, end)));
    const int64_t begin = track.begin ? *track.begin : std::min(*track.first, before(before(end, on_ns), off_ns));
    thread.live(begin, end);
    if (result_.are_placed) place(track, begin, end, on_ns);
    track.begin = std::max(end, track.off_until);
    track.first.reset();
    track.off.clear();
    track.samples.clear();
  }

  // The thread ran before a sample, or before it was off the processors, but only for as long as it was on one. Between
  // two records it runs all the time, if none is lost. So the shortest of these times come first, and what remains of
  // the longest ones is not known.
  void place(Track& track, int64_t begin, int64_t end, uint64_t on_ns) {
    struct Gap {
      int64_t begin, end;
      StateSpan next;
      uint64_t running_ns = 0;
    };
    std::vector<StateSpan> records = track.off;
    for (const int64_t time : track.samples) records.push_back({time, time, ThreadState::Running});
    std::ranges::stable_sort(records, {}, &StateSpan::begin);
    records.push_back({end, end, ThreadState::Running});
    std::vector<Gap> gaps;
    for (const StateSpan& record : records) {
      gaps.push_back({begin, std::clamp(record.begin, begin, std::max(begin, end)), record});
      begin = std::max(begin, record.end);
    }
    std::vector<Gap*> shortest;
    for (Gap& gap : gaps) shortest.push_back(&gap);
    std::ranges::stable_sort(shortest, {}, [](const Gap* gap) { return gap->end - gap->begin; });
    for (Gap* const gap : shortest) on_ns -= gap->running_ns = std::min(on_ns, between(gap->begin, gap->end));

    std::vector<StateSpan>& spans = track.thread->states.spans;
    const size_t before_piece = spans.size();
    for (const Gap& gap : gaps)
      for (const StateSpan& span :
           {StateSpan{gap.end - static_cast<int64_t>(gap.running_ns), gap.end, ThreadState::Running}, gap.next})
        if (span.begin < span.end && !continues(spans, before_piece, span)) spans.push_back(span);
    count_ += spans.size() - before_piece;
    if (count_ > kMaxSpans) forget_places();
  }

  void forget_places() {
    result_.are_placed = false;
    result_.handovers = {};
    for (auto& [key, thread] : threads_) thread.states.spans = {};
  }

  StatesOfThreads finish() {
    for (auto& [id, track] : tracks_)
      if (track.thread != nullptr && result_.are_placed)
        track.thread->states.spans.insert(track.thread->states.spans.end(), track.off.begin(), track.off.end());
    for (auto& [key, thread] : threads_) {
      if (!thread.has_time) continue;
      ThreadStates& states = thread.states;
      states.key = key;
      in_order(states.spans);
      const uint64_t ready_ns = std::min(thread.ready_ns, states.waiting_ns);
      states.waiting_ns -= ready_ns;
      states.preempted_ns = sum(states.preempted_ns, ready_ns);
      // Only a forged trace has more time than its life.
      uint64_t left = states.life_ns();
      for (uint64_t* const ns : {&states.waiting_ns, &states.preempted_ns, &states.running_ns})
        left -= * ns = std::min(*ns, left);
      states.unknown_ns = left;
      result_.threads.push_back(std::move(states));
    }
    std::ranges::stable_sort(result_.threads, std::ranges::greater(), &ThreadStates::running_ns);
    find_missing_wake_ups();
    return std::move(result_);
  }

  // As the recorder states it (src/core/sample/sampler.cc).
  void find_missing_wake_ups() {
    for (const auto& [id, writer] : reader_.writers())
      for (const auto& [name, value] : writer.origin.metadata) {
        if (name == "wake-ups" && value.starts_with("not ")) result_.missing_wake_ups = value;
        if (name == "without wake-ups") result_.missing_wake_ups = "not recorded for " + value;
      }
  }

  // Whether the span became a part of the last one, which runs too. Those before `from` do not change.
  static bool continues(std::span<StateSpan> spans, size_t from, const StateSpan& span) {
    if (spans.size() <= from || spans.back().end != span.begin || spans.back().state != ThreadState::Running ||
        span.state != ThreadState::Running)
      return false;
    spans.back().end = span.end;
    return true;
  }

  static void in_order(std::vector<StateSpan>& spans) {
    std::ranges::stable_sort(spans, {}, &StateSpan::begin);
    size_t kept = 0;
    for (StateSpan span : spans) {
      if (kept != 0) span.begin = std::max(span.begin, spans[kept - 1].end);
      if (span.begin < span.end && !continues({spans.data(), kept}, 0, span)) spans[kept++] = span;
    }
    spans.resize(kept);
  }

  const trace::Reader& reader_;
  std::map<std::pair<trace::WriterId, uint32_t>, Track> tracks_;
  std::map<std::string, Thread> threads_;
  size_t count_ = 0;  // of spans
  StatesOfThreads result_;
};

// The largest number that there was for long enough.
size_t most(const std::vector<uint64_t>& times, uint64_t all) {
  for (size_t number = times.size(); number-- > 1;)
    if (times[number] >= std::max<uint64_t>(1, all / 100)) return number;
  return 0;
}

}  // namespace

std::string ThreadStates::label() const {
  return program.empty() || name.find(program) != std::string::npos ? name : program + " " + name;
}

std::string thread_key(const trace::WriterInfo& writer, const trace::Track& track) {
  return key_of(writer, writer.origin.pid, track.tid);
}

StatesOfThreads read_thread_states(const trace::Reader& reader) { return Reading(reader).run(); }

StateTimes::StateTimes(const ThreadStates& thread) : spans_(thread.spans), before_(spans_.size()) {
  for (size_t i = 1; i < spans_.size(); ++i) {
    before_[i] = before_[i - 1];
    before_[i][static_cast<size_t>(spans_[i - 1].state)] +=
        kymo::analyze::between(spans_[i - 1].begin, spans_[i - 1].end);
  }
}

StateTimes::Times StateTimes::between(int64_t begin_ns, int64_t end_ns) const {
  Times times = until(end_ns);
  const Times before = until(std::min(begin_ns, end_ns));
  for (size_t i = 0; i < times.size(); ++i) times[i] -= before[i];
  return times;
}

StateTimes::Times StateTimes::until(int64_t ns) const {
  const auto next = std::ranges::upper_bound(spans_, ns, {}, &StateSpan::begin);
  if (next == spans_.begin()) return {};
  const StateSpan& last = *std::prev(next);
  Times times = before_[static_cast<size_t>(std::prev(next) - spans_.begin())];
  times[static_cast<size_t>(last.state)] += kymo::analyze::between(last.begin, std::min(ns, last.end));
  return times;
}

ThreadsTogether together(const std::vector<ThreadStates>& threads) {
  constexpr size_t kLiving = 3;
  struct Change {
    int64_t time;
    uint8_t what;  // a state, or kLiving
    bool is_begin;
    uint32_t thread;
  };
  std::vector<Change> changes;
  for (uint32_t i = 0; i < threads.size(); ++i) {
    changes.push_back({threads[i].begin_ns, kLiving, true, i});
    changes.push_back({threads[i].end_ns, kLiving, false, i});
    for (const StateSpan& span : threads[i].spans) {
      changes.push_back({span.begin, static_cast<uint8_t>(span.state), true, i});
      changes.push_back({span.end, static_cast<uint8_t>(span.state), false, i});
    }
  }
  std::ranges::sort(changes, {}, &Change::time);
  ThreadsTogether all;
  size_t now[kLiving + 1] = {};
  const size_t& running = now[static_cast<size_t>(ThreadState::Running)];
  const size_t& waiting = now[static_cast<size_t>(ThreadState::Waiting)];
  const size_t& preempted = now[static_cast<size_t>(ThreadState::Preempted)];
  std::vector<uint64_t> running_times(threads.size() + 1);
  all.wanting_ns.resize(threads.size() + 1);
  for (size_t i = 0; i < changes.size(); ++i) {
    if (i != 0 && changes[i].time > changes[i - 1].time) {
      const uint64_t ns = between(changes[i - 1].time, changes[i].time);
      if (running != 0) all.any_running_ns += ns;
      if (preempted != 0) all.any_preempted_ns += ns;
      if (now[kLiving] != 0 && waiting == now[kLiving]) {
        all.all_waiting_ns += ns;
        if (all.pauses.empty() || all.pauses.back().end != changes[i - 1].time)
          all.pauses.push_back({changes[i - 1].time, 0, 0});
        all.pauses.back().end = changes[i].time;
      }
      running_times[std::min(running, threads.size())] += ns;
      all.wanting_ns[std::min(running + preempted, threads.size())] += ns;
    }
    const bool is_wait = changes[i].what == static_cast<uint8_t>(ThreadState::Waiting);
    if (is_wait && !changes[i].is_begin && !all.pauses.empty() && all.pauses.back().end == changes[i].time)
      all.pauses.back().thread = changes[i].thread;
    now[changes[i].what] += changes[i].is_begin ? 1 : -1;
  }
  all.most_running = most(running_times, all.any_running_ns);
  all.most_wanting = most(all.wanting_ns, all.any_running_ns);
  return all;
}

uint64_t ThreadsTogether::wanting_more_than(size_t number) const {
  uint64_t ns = 0;
  for (size_t i = number + 1; i < wanting_ns.size(); ++i) ns += wanting_ns[i];
  return ns;
}

}  // namespace kymo::analyze
