// CPU samples in a Perfetto trace: PerfSample packets on a sequence of their own, with interned stacks.
//
// Perfetto shows them as flame graphs, and as marks on their threads.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_set>
#include <utility>

#include "convert/formats/sample_notes.h"
#include "convert/places.h"

namespace kymo::convert {

class PerfettoSamples {
 public:
  // `period_ns` is the time that a sample stands for.
  PerfettoSamples(uint32_t sequence, uint32_t clock_id, uint64_t period_ns)
      : sequence_(sequence), clock_id_(clock_id), period_ns_(period_ns) {}

  void append(std::string& out, const Place& place, int64_t time_ns, memory::StackId stack, SampleNotes& notes);

 private:
  void define_stack(std::string& data, uint64_t iid, const std::vector<symbols::Frame>& frames);
  uint64_t name(std::string& data, const std::string& function);
  uint64_t mapping(std::string& data, const std::string& module);
  uint64_t frame(std::string& data, const symbols::Frame& frame);

  const uint32_t sequence_, clock_id_;
  const uint64_t period_ns_;
  bool begun_ = false;
  std::unordered_set<uint64_t> stacks_;
  std::map<std::string, uint64_t> names_, mappings_;
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> frames_;  // name and mapping
};

}  // namespace kymo::convert
