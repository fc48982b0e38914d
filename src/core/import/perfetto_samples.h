// CPU samples of a Perfetto trace, as samples of Kymo (docs/sampling.md): of traces that Kymo exported, and of others.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "import/perfetto_rows.h"
#include "import/perfetto_sequence.h"
#include "import/trace_builder.h"

namespace kymo::import {

class PerfettoSamples {
 public:
  PerfettoSamples(TraceBuilder& builder, PerfettoRows& rows) : builder_(builder), rows_(rows) {}

  // Reads a PerfSample. Throws protozero::exception.
  void add(const PerfettoSequence& sequence, int64_t time, std::string_view perf_sample);
  // After all: states how often samples were taken.
  void finish();

  uint64_t without_stack() const { return without_stack_; }

 private:
  std::vector<ImportedFrame> frames_of(const PerfettoSequence& sequence, uint64_t callstack);

  TraceBuilder& builder_;
  PerfettoRows& rows_;
  std::vector<ImportedValue> values_;
  std::vector<std::string> texts_;  // of frames without a name
  uint64_t period_ns_ = 0;
  uint64_t without_stack_ = 0;
};

}  // namespace kymo::import
