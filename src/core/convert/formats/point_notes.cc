#include "convert/formats/point_notes.h"

#include <algorithm>
#include <utility>

#include "analyze/memory/replay.h"
#include "trace/read_if_whole.h"

namespace kymo::convert {

using memory::SampleStacks;

std::string frames_text(const std::vector<symbols::Frame>& frames) {
  constexpr size_t kMostFrames = 64;
  std::string text;
  for (size_t i = 0; i < std::min(frames.size(), kMostFrames); ++i) {
    if (i != 0) text += " < ";
    text += frames[i].function.empty() ? "?" : frames[i].function;
  }
  if (frames.size() > kMostFrames) text += " < …";
  return text;
}

SampleNotes::SampleNotes(const trace::Reader& reader) {
  SampleStacks samples(stacks_, reader);
  trace::EventBatch batch;
  uint64_t next = 1;  // Event::number of the first point of a chunk
  for (const trace::EventChunk& chunk : reader.event_chunks()) {
    const uint64_t first = std::exchange(next, next + chunk.point_count);
    const auto writer = reader.writers().find(chunk.writer);
    if (chunk.point_count == 0 || writer == reader.writers().end() || !SampleStacks::are_in(writer->second)) continue;
    if (notes_.empty()) period_ns_ = memory::sample_period_ns(reader, writer->second);
    if (!trace::read_if_whole(reader, chunk, batch, trace::kPoints | trace::kPointValues))
      continue;  // the walk that follows reports it
    trace::ValueCursor cursor(batch.points.values);
    for (size_t i = 0; i < batch.points.size(); ++i) {
      const trace::EventClass* const event_class = writer->second.find_class(batch.points.class_id[i]);
      const SampleStacks::Row& row = cursor.next(event_class);
      if (event_class == nullptr) continue;
      const SampleStacks::Taken taken =
          samples.take(writer->second, chunk.track, *event_class, batch.points.id[i], row);
      const bool is_of_clock = taken.kind == SampleStacks::Kind::Sample;
      if (is_of_clock || taken.has_stack) notes_.push_back({first + i, taken.stack, is_of_clock});
    }
  }
}

const SampleNotes::Note* SampleNotes::find(uint64_t point) const {
  const auto found = std::ranges::lower_bound(notes_, point, {}, &Note::point);
  return found == notes_.end() || found->point != point ? nullptr : &*found;
}

const std::string& SampleNotes::text(memory::StackId stack) {
  const auto [entry, is_new] = texts_.try_emplace(stack);
  if (is_new) entry->second = frames_text(stacks_.frames(stack));
  return entry->second;
}

namespace {

bool has_allocations(const trace::Reader& reader) {
  trace::EventBatch batch;
  for (const trace::EventChunk& chunk : reader.event_chunks()) {
    if (chunk.point_count == 0) continue;
    if (!trace::read_if_whole(reader, chunk, batch, trace::kPoints)) continue;  // the walk that follows reports it
    for (const trace::PointKind kind : batch.points.kind)
      if (trace::is_of_memory(kind)) return true;
  }
  return false;
}

// Sizes in a forged file may have any value.
int64_t signed_size(uint64_t bytes) { return static_cast<int64_t>(std::min<uint64_t>(bytes, INT64_MAX)); }

}  // namespace

class MemoryNotes::Collector : public memory::BlockVisitor {
 public:
  explicit Collector(std::vector<Note>& notes) : notes_(notes) {}

  void taken(const memory::Block& block) override {
    uint64_t& in_use = of(block.memory);
    in_use += std::min(block.bytes, UINT64_MAX - in_use);
    notes_.push_back({block.point, signed_size(block.bytes), in_use, block.memory, block.stack});
  }
  void returned(const memory::Block& block, const memory::MemoryChange& by) override {
    const uint64_t in_use = give_back(block);
    if (by.is_return) notes_.push_back({by.point, -signed_size(block.bytes), in_use, block.memory, by.stack});
  }
  void ended(const memory::Block& block, int64_t) override { give_back(block); }
  void unknown_return(const memory::MemoryChange& change) override {
    notes_.push_back({change.point, -signed_size(change.bytes), of(change.memory), change.memory, change.stack});
  }

 private:
  uint64_t& of(uint32_t memory) {
    if (memory >= in_use_.size()) in_use_.resize(memory + size_t{1});
    return in_use_[memory];
  }
  uint64_t give_back(const memory::Block& block) {
    uint64_t& in_use = of(block.memory);
    return in_use -= std::min(block.bytes, in_use);
  }

  std::vector<Note>& notes_;
  std::vector<uint64_t> in_use_;  // by memory
};

MemoryNotes::MemoryNotes(const trace::Reader& reader) : changes_(reader) {
  if (!has_allocations(reader)) return;
  Collector collector(notes_);
  memory::replay(changes_, collector);
  std::sort(notes_.begin(), notes_.end(), [](const Note& a, const Note& b) { return a.point < b.point; });
}

const MemoryNotes::Note* MemoryNotes::find(uint64_t point) const {
  const auto found = std::lower_bound(notes_.begin(), notes_.end(), point,
                                      [](const Note& note, uint64_t wanted) { return note.point < wanted; });
  return found == notes_.end() || found->point != point ? nullptr : &*found;
}

const std::string& MemoryNotes::stack(const Note& note) {
  const auto [entry, is_new] = stacks_.try_emplace(note.stack);
  std::string& text = entry->second;
  if (!is_new || note.stack == 0) return text;
  text = frames_text(changes_.tables().stacks.frames(note.stack));
  return text;
}

}  // namespace kymo::convert
