// The CPU samples of `kymo record`: started before the program, and written into the same trace.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collect/recording.h"
#include "sample/perf_events.h"
#include "sample/sampler.h"

namespace kymo::cli {

// Who samples: the kernel (sample/perf_events.h), or a library in the programs (sample/timer_source.h).
enum class SampledBy : uint8_t { Any, Kernel, Timers };

struct SampleOptions {
  uint64_t hertz = 1000;  // 0: no samples
  bool is_given = false;  // on the command line
  sample::Stacks stacks = sample::kDefaultStacks;
  SampledBy by = SampledBy::Any;
  bool waits = false;  // --sample-waits: the stacks of all, instead of some
  uint64_t piece_ns = sample::kPieceNs;
};

// "1kHz", "250Hz", "10000", "off": the rate, 0 for off. Throws kymo::InvalidArgument.
uint64_t parse_sample_rate(const std::string& text);
// The options of --sample if it is not given: $KYMO_SAMPLE, or 1 kHz. An invalid value throws kymo::InvalidArgument.
SampleOptions default_sample_options();

class RecordedSamples : public collect::Companion {
 public:
  // Of the program that the calling thread starts next. If the kernel refuses, by timers inside the program; `note`
  // then says so, and why. Null if it is off, or if both are not possible: then `note` says why, and the recording goes
  // on without samples.
  static std::unique_ptr<RecordedSamples> of_next_program(const SampleOptions& options,
                                                          const std::vector<std::string>& command_line,
                                                          collect::Recording& recording, std::string& note);
  // Of a process that runs. Throws kymo::NotAvailable, before it calls `start` for the recording: a failure must not
  // replace an older trace. `note` says what else the kernel refused; empty: nothing.
  static std::unique_ptr<RecordedSamples> of_process(pid_t pid, const SampleOptions& options,
                                                     const std::function<collect::Recording&()>& start,
                                                     std::string& note);

  void write(trace::Writer& file) override { sampler_.write(file); }
  void end_file(trace::Writer& file) override { sampler_.end_file(file); }

  // What the program needs in its environment, besides `others`, which is added to it.
  using Environment = std::vector<std::pair<std::string, std::string>>;
  void add_to(Environment& others) const;
  bool is_by_timers() const { return is_by_timers_; }
  uint64_t hertz() const { return hertz_; }

  // Call it before Recording::finish().
  sample::SampleTotals finish();

 private:
  RecordedSamples(std::unique_ptr<sample::RecordSource> source, sample::SamplerOptions options)
      : hertz_(options.hertz), sampler_(std::move(source), std::move(options)) {}
  static std::unique_ptr<RecordedSamples> by_timers(const SampleOptions& options,
                                                    const std::vector<std::string>& command_line,
                                                    collect::Recording& recording, std::string& note);

  uint64_t hertz_;
  bool is_by_timers_ = false;
  std::string library_;      // in the programs; empty: none
  Environment environment_;  // that it needs
  sample::Sampler sampler_;
};

}  // namespace kymo::cli
