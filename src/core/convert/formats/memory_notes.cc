#include "convert/formats/memory_notes.h"

#include <algorithm>

#include "analyze/memory/replay.h"
#include "convert/formats/sample_notes.h"
#include "kymo/error.h"

namespace kymo::convert {

namespace {

bool has_allocations(const trace::Reader& reader) {
  trace::EventBatch batch;
  for (const trace::EventChunk& chunk : reader.event_chunks()) {
    if (chunk.point_count == 0) continue;
    try {
      reader.read(chunk, batch, trace::kPoints);
    } catch (const Error&) {
      continue;  // the walk that follows reports it
    }
    for (const trace::PointKind kind : batch.points.kind)
      if (kind == trace::PointKind::Allocation || kind == trace::PointKind::Free) return true;
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
