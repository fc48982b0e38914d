#include "cli/record_samples.h"

#include <charconv>
#include <utility>

#include "base/environment.h"
#include "base/text.h"
#include "kymo/error.h"

namespace kymo::cli {

namespace {

constexpr uint64_t kLowestRate = 1, kHighestRate = 50'000;

}  // namespace

uint64_t parse_sample_rate(const std::string& text) {
  if (text == "off") return 0;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  const double factor = unit == "kHz" || unit == "khz" ? 1000 : unit == "Hz" || unit == "hz" || unit.empty() ? 1 : 0;
  const double hertz = number * factor;
  if (error != std::errc() || factor == 0)
    throw InvalidArgument(base::format("'{}' is not a rate; use 1kHz, 10kHz, 250Hz or off", text));
  if (!(hertz >= kLowestRate && hertz <= kHighestRate))
    throw InvalidArgument(base::format("'{}' is out of range; use 1Hz to 50kHz, or off", text));
  return static_cast<uint64_t>(hertz);
}

SampleOptions default_sample_options() {
  SampleOptions options;
  const char* const text = base::environment("KYMO_SAMPLE");
  if (text == nullptr || *text == '\0') return options;
  try {
    options.hertz = parse_sample_rate(text);
  } catch (const InvalidArgument& error) {
    throw InvalidArgument(base::format("KYMO_SAMPLE: {}", error.what()));
  }
  return options;
}

std::unique_ptr<RecordedSamples> RecordedSamples::of_next_program(const SampleOptions& options,
                                                                  const std::vector<std::string>& command_line,
                                                                  collect::Recording& recording, std::string& refusal) {
  if (options.hertz == 0) return nullptr;
  try {
    std::unique_ptr<RecordedSamples> made(
        new RecordedSamples(sample::PerfEvents::for_next_program({options.hertz, options.stacks}),
                            {options.hertz, recording.session(), command_line}));
    recording.accompany(*made);
    return made;
  } catch (const NotAvailable& error) {
    refusal = error.what();
    return nullptr;
  }
}

std::unique_ptr<RecordedSamples> RecordedSamples::of_process(pid_t pid, const SampleOptions& options,
                                                             collect::Recording& recording) {
  std::unique_ptr<RecordedSamples> made(new RecordedSamples(
      sample::PerfEvents::for_process(pid, {options.hertz, options.stacks}), {options.hertz, recording.session(), {}}));
  made->sampler_.add_running(pid);
  recording.accompany(*made);
  return made;
}

sample::SampleTotals RecordedSamples::finish() {
  sampler_.stop();
  return sampler_.totals();
}

}  // namespace kymo::cli
