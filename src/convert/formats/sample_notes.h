// The stacks of the CPU samples of a trace (docs/sampling.md), by point. All are read once, before anything is written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyze/memory/stacks.h"
#include "trace/reader.h"

namespace kymo::convert {

class SampleNotes {
 public:
  // Costs one pass over the points of writers that have samples. Uses 16 bytes for each sample.
  explicit SampleNotes(const trace::Reader& reader);

  // By Event::number. Nothing if the point is not a CPU sample.
  std::optional<memory::StackId> find(uint64_t point) const;

  // Innermost first: "load < main". Empty if it is not known. The first call for a stack is slow.
  const std::string& text(memory::StackId stack);
  // Innermost first.
  std::vector<symbols::Frame> frames(memory::StackId stack) { return stacks_.frames(stack); }

 private:
  memory::Stacks stacks_;
  std::vector<std::pair<uint64_t, memory::StackId>> notes_;  // by point
  std::unordered_map<memory::StackId, std::string> texts_;
};

// Innermost first, separated by " < "; at most 64 frames.
std::string frames_text(const std::vector<symbols::Frame>& frames);

}  // namespace kymo::convert
