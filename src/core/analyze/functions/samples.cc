#include "analyze/functions/samples.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "analyze/memory/stacks.h"
#include "analyze/operation_name.h"
#include "analyze/thread_states.h"
#include "base/hash.h"
#include "base/wildcard.h"
#include "convert/events.h"
#include "kymo/error.h"
#include "trace/clock.h"

namespace kymo::functions {

namespace {

using memory::SampleStacks;
using memory::StackId;

// The process and thread of a place, for all writers.
using ThreadKey = std::pair<const convert::Group*, uint64_t>;
ThreadKey key_of(const convert::Place& place) { return {place.group, place.track->tid}; }

struct Timed {
  int64_t time_ns;
  StackId stack;
  uint64_t weight = 0;
  uint32_t range = 0;
  uint16_t depth = 0;      // of the range, counted from 1
  bool is_wanted = false;  // it is in a range with the wanted name
  bool goes_on = false;    // a wait that was counted already
};

struct Sum {
  uint64_t count = 0, weight = 0;
  void add(uint64_t more, bool goes_on) { count += goes_on ? 0 : 1, weight += more; }
};

struct Thread {
  SampledThread result;
  std::unordered_map<uint64_t, Sum, base::SeededHash> counts;  // by stack
  bool is_timed = false;                                       // there are ranges on this thread
  std::vector<Timed> timed;
  std::vector<std::pair<int64_t, int64_t>> wanted;  // the ranges with the wanted name
  uint64_t wait_end = 0;                            // of its last wait if it was not ready since, in ticks
};

// Gives samples their ranges, and marks those in ranges with the wanted name.
class RangeVisitor : public convert::EventVisitor {
 public:
  RangeVisitor(std::map<ThreadKey, std::vector<Thread*>>& threads, std::deque<std::string>& names,
               const std::string& wanted)
      : threads_(threads), names_(names), wanted_(wanted) {}

  bool found_wanted() const { return found_wanted_; }

  void range(const convert::Range& range) override {
    if (range.place->track->kind != trace::TrackKind::Thread || range.lane != 0) return;
    const std::string& name = name_of(range);
    const bool is_wanted = !wanted_.empty() && (is_named(name) || is_named(range.name));
    found_wanted_ = found_wanted_ || is_wanted;
    const auto threads = threads_.find(key_of(*range.place));
    if (threads == threads_.end()) return;
    for (Thread* const thread : threads->second) {
      if (is_wanted) thread->wanted.emplace_back(range.start_ns, range.end_ns);
      auto at = std::lower_bound(thread->timed.begin(), thread->timed.end(), range.start_ns,
                                 [](const Timed& one, int64_t time) { return one.time_ns < time; });
      for (; at != thread->timed.end() && at->time_ns < range.end_ns; ++at) {
        const auto depth = static_cast<uint16_t>(std::min(range.depth + 1, 0xFFFF));
        at->is_wanted = at->is_wanted || is_wanted;
        if (depth <= at->depth) continue;
        at->depth = depth;
        at->range = number(name);
      }
    }
  }

 private:
  // That of its row in kymo stats: "step {}", not "step 7".
  const std::string& name_of(const convert::Range& range) {
    const trace::EventClass& event_class = range.event_class->event_class;
    if (event_class.id == trace::kInlineName) return inline_name_.assign(range.name);
    const uint32_t index = range.event_class->index;
    if (index >= names_of_classes_.size()) names_of_classes_.resize(index + size_t{1});
    std::string& name = names_of_classes_[index];
    if (name.empty()) name = analyze::operation_name(event_class);
    return name;
  }

  bool is_named(std::string_view name) const { return name == wanted_ || base::matches(wanted_, name); }

  uint32_t number(const std::string& name) {
    const auto known = numbers_.find(name);
    if (known != numbers_.end()) return known->second;
    constexpr size_t kMaxNames = 1 << 16;
    if (names_.size() >= kMaxNames) return 0;
    names_.emplace_back(name);
    return numbers_[names_.back()] = static_cast<uint32_t>(names_.size() - 1);
  }

  std::map<ThreadKey, std::vector<Thread*>>& threads_;
  std::deque<std::string>& names_;
  const std::string& wanted_;
  bool found_wanted_ = false;
  std::vector<std::string> names_of_classes_;  // by ClassInfo::index
  std::string inline_name_;
  std::unordered_map<std::string, uint32_t> numbers_;
};

class Reading {
 public:
  Reading(const trace::Reader& reader, What what, const std::string& range) : reader_(reader), wanted_(range) {
    result_.what = what;
    result_.is_part = !range.empty();
    result_.places = std::make_unique<convert::Places>(reader);
  }

  Samples run() {
    result_.problems = reader_.problems();
    find_ranges();
    for (const trace::EventChunk& chunk : reader_.event_chunks()) {
      const auto writer = reader_.writers().find(chunk.writer);
      if (chunk.point_count == 0 || writer == reader_.writers().end() || !SampleStacks::are_in(writer->second))
        continue;
      read(chunk, writer->second);
    }
    place_in_ranges();
    finish();
    return std::move(result_);
  }

 private:
  // The threads that have ranges, of all writers.
  void find_ranges() {
    for (const trace::EventChunk& chunk : reader_.event_chunks()) {
      if (chunk.range_count == 0) continue;
      if (const convert::Place* const place = result_.places->find(chunk.writer, chunk.track))
        with_ranges_[key_of(*place)];
    }
  }

  const trace::ClockMap& clock_of(const trace::WriterInfo& info, uint32_t clock) {
    const auto [entry, is_new] = clocks_.try_emplace({info.id, clock});
    if (const auto domain = info.clocks.find(clock); is_new && domain != info.clocks.end())
      entry->second = trace::clock_map(domain->second);
    return entry->second;
  }

  void read(const trace::EventChunk& chunk, const trace::WriterInfo& info) {
    const convert::Place* const place = result_.places->find(chunk.writer, chunk.track);
    if (place == nullptr) return;
    try {
      reader_.read(chunk, batch_, trace::kPoints | trace::kPointValues);
    } catch (const Error& error) {
      result_.problems.push_back({chunk.offset, chunk.length, error.what()});
      return;
    }
    const trace::ClockMap& clock = clock_of(info, place->track->clock);
    Thread& thread = threads_[{chunk.writer, chunk.track}];
    if (thread.result.place == nullptr) {
      thread.result.place = place;
      thread.result.period_ns = memory::sample_period_ns(reader_, info);
      const auto ranges = with_ranges_.find(key_of(*place));
      thread.is_timed = ranges != with_ranges_.end() && clock.usable();
      if (thread.is_timed) ranges->second.push_back(&thread);
    }
    trace::ValueCursor cursor(batch_.points.values);
    for (size_t i = 0; i < batch_.points.size(); ++i) {
      const trace::EventClass* const event_class = info.find_class(batch_.points.class_id[i]);
      const SampleStacks::Row& row = cursor.next(event_class);
      if (event_class == nullptr) continue;
      const SampleStacks::Taken taken = stacks_.take(info, chunk.track, *event_class, batch_.points.id[i], row);
      bool goes_on = false;  // it is a part of the wait before it
      if (taken.kind == SampleStacks::Kind::OffCpu) {
        const uint64_t begin = batch_.points.time[i];
        goes_on = std::exchange(thread.wait_end, taken.is_preempted ? 0 : begin + taken.ns) == begin;
        thread.result.off_ns += taken.ns;
        if (taken.is_preempted) thread.result.preempted_ns += taken.ns;
      } else if (taken.kind == SampleStacks::Kind::OnCpu) {
        thread.result.on_ns += taken.ns;
      }
      const std::optional<uint64_t> weight = weight_of(taken, thread);
      if (!weight) continue;
      has_stacks_ = has_stacks_ || taken.has_stack;
      if (thread.is_timed)
        thread.timed.push_back({.time_ns = clock.to_monotonic_ns(batch_.points.time[i]),
                                .stack = taken.stack,
                                .weight = *weight,
                                .goes_on = goes_on});
      else
        thread.counts[taken.stack].add(*weight, goes_on);
    }
  }

  // Nothing: it is not counted.
  std::optional<uint64_t> weight_of(const SampleStacks::Taken& taken, const Thread& thread) const {
    switch (result_.what) {
      case What::Cpu:
        if (taken.kind == SampleStacks::Kind::Sample) return thread.result.period_ns;
        break;
      case What::Waits:
        if (taken.kind != SampleStacks::Kind::OffCpu) break;
        if (!taken.is_preempted) return taken.ns;
        break;
    }
    return std::nullopt;
  }

  void place_in_ranges() {
    const bool is_needed = std::ranges::any_of(with_ranges_, [](const auto& one) { return !one.second.empty(); });
    if (!is_needed && !result_.is_part) return;
    for (auto& [key, threads] : with_ranges_)
      for (Thread* const thread : threads) std::ranges::stable_sort(thread->timed, {}, &Timed::time_ns);
    RangeVisitor visitor(with_ranges_, result_.ranges, wanted_);
    convert::visit_events(reader_, *result_.places, convert::TimeBase::Monotonic, visitor);
    result_.has_part = !result_.is_part || visitor.found_wanted();
  }

  // How long the threads were off the processors in the wanted ranges.
  void cut_times() {
    const analyze::StatesOfThreads states = analyze::read_thread_states(reader_);
    std::map<std::string_view, const analyze::ThreadStates*> by_key;
    for (const analyze::ThreadStates& one : states.threads) by_key.emplace(one.key, &one);
    for (auto& [key, thread] : threads_) {
      const auto known = by_key.find(analyze::thread_key(reader_.writers().at(key.first), *thread.result.place->track));
      thread.result.off_ns = thread.result.preempted_ns = 0;
      // Of the programs that a process runs one after another, only one: the states are those of all of them.
      if (known == by_key.end() || known->second->writer != key.first || known->second->track != key.second) continue;
      const analyze::StateTimes times(*known->second);
      std::ranges::sort(thread.wanted);
      int64_t done = INT64_MIN;  // a range may be inside of another one
      for (const auto& [begin, end] : thread.wanted) {
        const auto inside = times.between(std::max(begin, done), std::max(end, done));
        thread.result.preempted_ns += inside[static_cast<size_t>(analyze::ThreadState::Preempted)];
        thread.result.off_ns += inside[static_cast<size_t>(analyze::ThreadState::Waiting)] +
                                inside[static_cast<size_t>(analyze::ThreadState::Preempted)];
        done = std::max(done, end);
      }
    }
  }

  // A sample stands for a period, but a thread has not used the CPU for longer than it has. The first sample of a short
  // one may come early, which is right on average.
  static void limit(Thread& thread) {
    constexpr uint64_t kFewest = 8;
    uint64_t count = 0;
    for (const auto& [stack, sum] : thread.counts) count += sum.count;
    count += thread.timed.size();
    const uint64_t period = thread.result.period_ns, on_ns = thread.result.on_ns;
    if (on_ns == 0 || count < kFewest || on_ns / count >= period) return;
    const auto limited = [&](uint64_t& ns) {
      ns = static_cast<uint64_t>(static_cast<double>(ns) / static_cast<double>(count * period) *
                                 static_cast<double>(on_ns));
    };
    for (auto& [stack, sum] : thread.counts) limited(sum.weight);
    for (Timed& one : thread.timed) limited(one.weight);
  }

  void finish() {
    if (result_.is_part) cut_times();
    if (result_.what == What::Cpu && !was_lost())
      for (auto& [key, thread] : threads_) limit(thread);
    const bool are_counted = result_.what != What::Waits || has_stacks_ || was_requested(reader_, What::Waits);
    for (auto& [key, thread] : threads_) {
      if (!are_counted) thread.counts.clear(), thread.timed.clear();
      std::map<std::pair<StackId, uint32_t>, Sum> sums;
      if (!result_.is_part)
        for (const auto& [stack, sum] : thread.counts) sums[{static_cast<StackId>(stack), 0}] = sum;
      for (const Timed& one : thread.timed)
        if (!result_.is_part || one.is_wanted) sums[{one.stack, one.range}].add(one.weight, one.goes_on);
      for (const auto& [what, sum] : sums) {
        thread.result.stacks.push_back({what.first, what.second, sum.count, sum.weight});
        thread.result.samples += sum.count;
        if (result_.what == What::Waits && what.first == 0) result_.without_stack += sum.count;
      }
      result_.samples += thread.result.samples;
      if (thread.result.samples != 0 || thread.result.off_ns != 0 || (!result_.is_part && thread.result.on_ns != 0))
        result_.threads.push_back(std::move(thread.result));
    }
    if (result_.what == What::Cpu && !result_.is_part) find_lost_time();
  }

  bool was_lost() const {
    return std::ranges::any_of(reader_.writers(), [](const auto& one) {
      return SampleStacks::are_in(one.second) && std::ranges::any_of(one.second.losses, [](const trace::Loss& loss) {
               return loss.cause == trace::LossCause::Reported || loss.cause == trace::LossCause::SamplesLost;
             });
    });
  }

  // The kernel counts the CPU time of all programs also while records are lost.
  void find_lost_time() {
    uint64_t counted = 0, known = 0;
    bool is_whole = true;
    for (const auto& [id, writer] : reader_.writers()) {
      if (!SampleStacks::are_in(writer)) continue;
      is_whole = is_whole && !writer.window;
      for (const auto& [name, value] : writer.origin.metadata)
        if (name == "CPU time of all") counted += seconds_as_ns(value);
    }
    if (!was_lost()) return;
    for (const SampledThread& thread : result_.threads) known += thread.on_ns;
    for (const analyze::ThreadStates& thread : analyze::read_thread_states(reader_).threads)
      result_.unknown_ns += std::min(thread.unknown_ns, UINT64_MAX - result_.unknown_ns);
    if (is_whole && counted > known) result_.lost_cpu_ns = std::min(counted - known, result_.unknown_ns);
    result_.unknown_ns = result_.lost_cpu_ns != 0 ? 0 : result_.unknown_ns;
  }

  // "2.412345 s"; 0 if it is no such text.
  static uint64_t seconds_as_ns(const std::string& text) {
    constexpr double kMost = 1e9;
    double seconds = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    return error == std::errc() && seconds > 0 && seconds < kMost ? static_cast<uint64_t>(seconds * 1e9) : 0;
  }

  const trace::Reader& reader_;
  const std::string wanted_;  // the name of the ranges whose samples are counted; empty: all are
  Samples result_;
  SampleStacks stacks_{*result_.stacks, reader_};
  std::map<std::pair<trace::WriterId, uint32_t>, trace::ClockMap> clocks_;
  std::map<std::pair<trace::WriterId, uint32_t>, Thread> threads_;
  std::map<ThreadKey, std::vector<Thread*>> with_ranges_;
  trace::EventBatch batch_;
  bool has_stacks_ = false;  // of waits
};

}  // namespace

bool has_samples(const trace::WriterInfo& writer) { return SampleStacks::are_in(writer); }

bool has_samples(const trace::Reader& reader) {
  return std::ranges::any_of(reader.writers(), [](const auto& writer) { return has_samples(writer.second); });
}

bool was_requested(const trace::Reader& reader, What what) {
  if (what == What::Cpu) return has_samples(reader);
  return std::ranges::any_of(reader.writers(), [&](const auto& writer) {
    return std::ranges::any_of(writer.second.origin.metadata, [&](const auto& one) {
      return one.first == "also sampled" && one.second.find("waits") != std::string::npos;
    });
  });
}

Samples read_samples(const trace::Reader& reader, What what, const std::string& range) {
  return Reading(reader, what, range).run();
}

}  // namespace kymo::functions
