// The stacks of the CPU samples and waits of a trace (docs/sampling.md), by point. All are read once,
// before anything is written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyze/memory/changes.h"
#include "analyze/memory/stacks.h"
#include "trace/reader.h"

namespace kymo::convert {

class SampleNotes {
 public:
  // Costs one pass over the points of writers that have samples. Uses 16 bytes for each of them.
  explicit SampleNotes(const trace::Reader& reader);

  uint64_t period_ns() const { return period_ns_; }  // that a sample stands for, of the first writer that has samples

  struct Note {
    uint64_t point = 0;  // Event::number
    memory::StackId stack = 0;
    bool is_of_clock = false;  // a CPU sample; otherwise a wait
  };
  // By Event::number. Null if the point has no stack.
  const Note* find(uint64_t point) const;

  // Innermost first: "load < main". Empty if it is not known. The first call for a stack is slow.
  const std::string& text(memory::StackId stack);
  // Innermost first.
  std::vector<symbols::Frame> frames(memory::StackId stack) { return stacks_.frames(stack); }

 private:
  uint64_t period_ns_ = 1'000'000;
  memory::Stacks stacks_;
  std::vector<Note> notes_;  // by point
  std::unordered_map<memory::StackId, std::string> texts_;
};

// Innermost first, separated by " < "; at most 64 frames.
std::string frames_text(const std::vector<symbols::Frame>& frames);

// What a trace says about each allocation and free only as a whole: the size of what is freed, the memory in use after
// it, and the stack. All allocations are replayed once, in the order of time over all threads, before anything is
// written (analyze/memory/replay.h).
class MemoryNotes {
 public:
  // Costs one pass over all points, and a second one if there are allocations. Uses 32 bytes for each of them.
  explicit MemoryNotes(const trace::Reader& reader);

  struct Note {
    uint64_t point = 0;         // Event::number
    int64_t bytes = 0;          // below 0: freed
    uint64_t bytes_in_use = 0;  // of its memory, afterwards
    uint32_t memory = 0;
    memory::StackId stack = 0;
  };
  // Null if the point is not an allocation or a free.
  const Note* find(uint64_t point) const;

  // The name of its memory: "heap", "cuda:0", "host".
  const std::string& device(const Note& note) const { return changes_.tables().memories[note.memory].device; }
  // Innermost first: "load < main". Empty if it is not known. The first call for a stack is slow.
  const std::string& stack(const Note& note);

 private:
  class Collector;

  mutable memory::Changes changes_;
  std::vector<Note> notes_;  // by point
  std::unordered_map<memory::StackId, std::string> stacks_;
};

}  // namespace kymo::convert
