// The CPU samples of `kymo record`: started before the program, and written into the same trace.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "collect/companion.h"
#include "collect/recording.h"
#include "sample/sampler.h"

namespace kymo::cli {

struct SampleOptions {
  uint64_t hertz = 1000;  // 0: no samples
  bool is_given = false;  // on the command line
  sample::Stacks stacks = sample::kDefaultStacks;
};

// "1kHz", "250Hz", "10000", "off": the rate, 0 for off. Throws kymo::InvalidArgument.
uint64_t parse_sample_rate(const std::string& text);
// The options of --sample if it is not given: $KYMO_SAMPLE, or 1 kHz. An invalid value throws kymo::InvalidArgument.
SampleOptions default_sample_options();

class RecordedSamples : public collect::Companion {
 public:
  // Of the program that the calling thread starts next. Null if it is off, or if the system refuses: then `refusal`
  // says why, and the recording goes on without samples.
  static std::unique_ptr<RecordedSamples> of_next_program(const SampleOptions& options,
                                                          const std::vector<std::string>& command_line,
                                                          collect::Recording& recording, std::string& refusal);
  // Of a process that runs. Throws kymo::NotAvailable.
  static std::unique_ptr<RecordedSamples> of_process(pid_t pid, const SampleOptions& options,
                                                     collect::Recording& recording);

  void write(trace::Writer& file) override { sampler_.write(file); }
  void restate() override { sampler_.restate(); }

  // Call it before Recording::finish().
  sample::SampleTotals finish();

 private:
  RecordedSamples(sample::PerfEvents events, sample::SamplerOptions options)
      : sampler_(std::move(events), std::move(options)) {}

  sample::Sampler sampler_;
};

}  // namespace kymo::cli
