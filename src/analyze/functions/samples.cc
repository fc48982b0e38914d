#include "analyze/functions/samples.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/seeded_hash.h"
#include "convert/events.h"
#include "kymo/error.h"
#include "trace/clock.h"
#include "trace/definition.h"

namespace kymo::functions {

namespace {

using memory::StackId;
using trace::PointKind;
using Row = std::vector<trace::ValueCursor::Value>;

constexpr uint64_t kFirstNode = 16;  // below: roots (docs/heap.md)
constexpr uint64_t kDefaultPeriodNs = 1'000'000;

enum class Meaning : uint8_t { None, Sample, OffCpu, Node, Module, Symbol };

// The classes are recognized by names and fields, as they may come from any file.
Meaning meaning_of(const trace::EventClass& one) {
  const auto has = [&](std::initializer_list<std::string_view> names) {
    return one.fields.size() == names.size() &&
           std::equal(names.begin(), names.end(), one.fields.begin(),
                      [](std::string_view name, const trace::Field& field) { return field.name == name; });
  };
  if (one.category == "cpu" && one.name == "sample" && has({"node"})) return Meaning::Sample;
  if (one.category == "cpu" && one.name == "off CPU" && has({"ns", "preempted"})) return Meaning::OffCpu;
  if (!trace::is_definition(one)) return Meaning::None;
  if (one.name == "stack node" && has({"node", "parent", "address"})) return Meaning::Node;
  if (one.name == "module" && has({"path", "base", "size", "build_id"})) return Meaning::Module;
  if (one.name == "symbol" && has({"address", "name"})) return Meaning::Symbol;
  return Meaning::None;
}

bool samples_in(const trace::WriterInfo& writer) {
  return std::ranges::any_of(writer.classes, [](const auto& one) { return meaning_of(one.second) == Meaning::Sample; });
}

// "1 kHz", "250 Hz"
uint64_t period_of(const trace::WriterInfo& writer) {
  constexpr uint64_t kNanosecondsPerSecond = 1'000'000'000;
  for (const auto& [name, value] : writer.origin.metadata) {
    if (name != "sampling") continue;
    const uint64_t number = std::strtoull(value.c_str(), nullptr, 10);
    const uint64_t hertz = value.ends_with(" kHz") ? 1000 * std::min<uint64_t>(number, 1'000'000) : number;
    if (hertz != 0 && hertz <= kNanosecondsPerSecond) return kNanosecondsPerSecond / hertz;
  }
  return kDefaultPeriodNs;
}

// The process and thread of a place, for all writers.
using ThreadKey = std::pair<const convert::Group*, uint64_t>;
ThreadKey key_of(const convert::Place& place) { return {place.group, place.track->tid}; }

struct Timed {
  int64_t time_ns;
  StackId stack;
  uint32_t range = 0;
  uint16_t depth = 0;  // of the range, counted from 1
};

struct Thread {
  SampledThread result;
  std::unordered_map<uint64_t, StackId, base::SeededHash> nodes;
  std::unordered_map<uint64_t, uint64_t, base::SeededHash> counts;  // by stack
  bool is_timed = false;                                            // there are ranges on this thread
  std::vector<Timed> timed;
};

// Gives samples their ranges.
class RangeVisitor : public convert::EventVisitor {
 public:
  RangeVisitor(std::map<ThreadKey, std::vector<Thread*>>& threads, std::deque<std::string>& names)
      : threads_(threads), names_(names) {}

  void range(const convert::Range& range) override {
    if (range.place->track->kind != trace::TrackKind::Thread || range.lane != 0) return;
    const auto threads = threads_.find(key_of(*range.place));
    if (threads == threads_.end()) return;
    for (Thread* const thread : threads->second) {
      auto at = std::lower_bound(thread->timed.begin(), thread->timed.end(), range.start_ns,
                                 [](const Timed& one, int64_t time) { return one.time_ns < time; });
      for (; at != thread->timed.end() && at->time_ns < range.end_ns; ++at) {
        const auto depth = static_cast<uint16_t>(std::min(range.depth + 1, 0xFFFF));
        if (depth <= at->depth) continue;
        at->depth = depth;
        // "step {}", not "step 7".
        const trace::EventClass& event_class = range.event_class->event_class;
        at->range = number(event_class.id == trace::kInlineName ? range.name : std::string_view(event_class.name));
      }
    }
  }

 private:
  uint32_t number(std::string_view name) {
    const auto known = numbers_.find(std::string(name));
    if (known != numbers_.end()) return known->second;
    constexpr size_t kMostNames = 1 << 16;
    if (names_.size() >= kMostNames) return 0;
    names_.emplace_back(name);
    return numbers_[names_.back()] = static_cast<uint32_t>(names_.size() - 1);
  }

  std::map<ThreadKey, std::vector<Thread*>>& threads_;
  std::deque<std::string>& names_;
  std::unordered_map<std::string, uint32_t> numbers_;
};

class Reading {
 public:
  explicit Reading(const trace::Reader& reader) : reader_(reader) {
    result_.places = std::make_unique<convert::Places>(reader);
  }

  Samples run() {
    result_.problems = reader_.problems();
    find_ranges();
    for (const trace::EventChunk& chunk : reader_.event_chunks()) {
      const auto writer = reader_.writers().find(chunk.writer);
      if (chunk.point_count == 0 || writer == reader_.writers().end() || !samples_in(writer->second)) continue;
      read(chunk, writer->second);
    }
    place_in_ranges();
    finish();
    return std::move(result_);
  }

 private:
  struct Writer {
    uint32_t number;
    std::map<uint32_t, Meaning> meanings;
    std::map<uint32_t, trace::ClockMap> clocks;
  };

  // The threads that have ranges, of all writers.
  void find_ranges() {
    for (const trace::EventChunk& chunk : reader_.event_chunks()) {
      if (chunk.range_count == 0) continue;
      if (const convert::Place* const place = result_.places->find(chunk.writer, chunk.track))
        with_ranges_[key_of(*place)];
    }
  }

  Writer& writer_of(const trace::WriterInfo& info) {
    const auto [entry, is_new] = writers_.try_emplace(info.id);
    Writer& writer = entry->second;
    if (!is_new) return writer;
    writer.number = static_cast<uint32_t>(writers_.size() - 1);
    for (const auto& [id, one] : info.classes) writer.meanings[id] = meaning_of(one);
    for (const auto& [id, domain] : info.clocks) writer.clocks.emplace(id, trace::clock_map(domain));
    return writer;
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
    Writer& writer = writer_of(info);
    Thread& thread = threads_[{chunk.writer, chunk.track}];
    if (thread.result.place == nullptr) {
      thread.result.place = place;
      thread.result.period_ns = period_of(info);
      const auto ranges = with_ranges_.find(key_of(*place));
      const auto clock = writer.clocks.find(place->track->clock);
      thread.is_timed = ranges != with_ranges_.end() && clock != writer.clocks.end() && clock->second.usable();
      if (thread.is_timed) ranges->second.push_back(&thread);
    }
    const auto clock = writer.clocks.find(place->track->clock);
    trace::ValueCursor cursor(batch_.points.values);
    for (size_t i = 0; i < batch_.points.size(); ++i) {
      const auto known = info.classes.find(batch_.points.class_id[i]);
      const trace::EventClass* const event_class = known == info.classes.end() ? nullptr : &known->second;
      const Row& row = cursor.next(event_class);
      if (event_class == nullptr) continue;
      const int64_t time = thread.is_timed ? clock->second.to_monotonic_ns(batch_.points.time[i]) : int64_t{0};
      take(writer, thread, writer.meanings[event_class->id], row, time);
    }
  }

  void take(Writer& writer, Thread& thread, Meaning meaning, const Row& row, int64_t time) {
    switch (meaning) {
      case Meaning::Sample: {
        const auto node = thread.nodes.find(row[0].bits);
        const StackId stack = node != thread.nodes.end() ? node->second : root(row[0].bits);
        ++thread.result.samples;
        if (thread.is_timed)
          thread.timed.push_back({time, stack});
        else
          ++thread.counts[stack];
        return;
      }
      case Meaning::OffCpu:
        thread.result.off_ns += row[0].bits;
        if (row[1].bits != 0) thread.result.preempted_ns += row[0].bits;
        return;
      case Meaning::Node: {
        const auto parent = thread.nodes.find(row[1].bits);
        const StackId caller = parent != thread.nodes.end() ? parent->second : root(row[1].bits);
        thread.nodes[row[0].bits] = result_.stacks.called(caller, writer.number, row[2].bits);
        return;
      }
      case Meaning::Module:
        return result_.stacks.loaded(writer.number, std::string(row[0].text), std::string(row[3].text), row[1].bits,
                                     row[2].bits);
      case Meaning::Symbol:
        return result_.stacks.named(writer.number, row[0].bits, std::string(row[1].text));
      case Meaning::None:
        return;
    }
  }

  StackId root(uint64_t node) {
    using Cut = memory::Stacks::Cut;
    if (node < kFirstNode && node >= static_cast<uint64_t>(Cut::NoTables) &&
        node <= static_cast<uint64_t>(Cut::TooDeep))
      return result_.stacks.cut(static_cast<Cut>(node));
    return 0;
  }

  void place_in_ranges() {
    const bool is_needed = std::ranges::any_of(with_ranges_, [](const auto& one) { return !one.second.empty(); });
    if (!is_needed) return;
    for (auto& [key, threads] : with_ranges_)
      for (Thread* const thread : threads) std::ranges::stable_sort(thread->timed, {}, &Timed::time_ns);
    RangeVisitor visitor(with_ranges_, result_.ranges);
    convert::visit_events(reader_, *result_.places, convert::TimeBase::Monotonic, visitor);
  }

  void finish() {
    for (auto& [key, thread] : threads_) {
      std::map<std::pair<StackId, uint32_t>, uint64_t> counts;
      for (const auto& [stack, count] : thread.counts) counts[{stack, 0}] += count;
      for (const Timed& one : thread.timed) ++counts[{one.stack, one.range}];
      for (const auto& [what, count] : counts) thread.result.stacks.push_back({what.first, what.second, count});
      result_.samples += thread.result.samples;
      if (thread.result.samples != 0 || thread.result.off_ns != 0) result_.threads.push_back(std::move(thread.result));
    }
  }

  const trace::Reader& reader_;
  Samples result_;
  std::map<trace::WriterId, Writer> writers_;
  std::map<std::pair<trace::WriterId, uint32_t>, Thread> threads_;
  std::map<ThreadKey, std::vector<Thread*>> with_ranges_;
  trace::EventBatch batch_;
};

}  // namespace

bool has_samples(const trace::Reader& reader) {
  return std::ranges::any_of(reader.writers(), [](const auto& writer) { return samples_in(writer.second); });
}

Samples read_samples(const trace::Reader& reader) { return Reading(reader).run(); }

}  // namespace kymo::functions
