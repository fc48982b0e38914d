#include "commands/record/record_samples.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/environment.h"
#include "base/text.h"
#include "commands/record/libraries.h"
#include "commands/record/nothing_recorded.h"
#include "kymo/error.h"
#include "sample/perf_events.h"
#include "sample/timer_source.h"

namespace kymo::cli {

namespace {

constexpr uint64_t kLowestRate = 1, kHighestRate = 50'000;
constexpr const char* kTimerLibrary = "libkymo_sample.so";
constexpr const char* kOnlyByKernel = "functions of the kernel, waits, wake-ups";

void append_to_variable(RecordedSamples::Environment& environment, const char* name, const std::string& value) {
  std::string& list = variable_in(environment, name);
  list += (list.empty() ? "" : ":") + value;
}

sample::EventOptions event_options(const SampleOptions& options) {
  return {options.hertz, options.stacks, options.waits ? sample::Waits::All : sample::Waits::Some, true};
}

// What the kernel samples besides the CPU.
std::string also_sampled(const SampleOptions& options, const sample::PerfEvents& events) {
  return !events.has_waits() ? "" : options.waits ? "waits" : "some waits";
}

std::string wake_ups(const sample::PerfEvents& events) {
  const std::string& why_not = events.why_no_wake_ups();
  return why_not.empty() ? "recorded" : "not recorded: " + why_not;
}

// Of what root gets by default.
std::string unseen(const sample::PerfEvents& events) {
  const auto [what, why] = events.unseen();
  return what.empty() ? what : what + ": " + why;
}

// What the kernel refuses. Empty: nothing.
std::string refused(const sample::PerfEvents& events) {
  const std::string note = unseen(events);
  return note.empty() ? note : "not recorded: " + note;
}

// Python has its functions in its samples if the library can be loaded. `environment` is what it needs then.
std::unique_ptr<sample::RecordSource> source_with_python(sample::PerfEvents events, uint64_t hertz,
                                                         RecordedSamples::Environment& environment) {
  try {
    const bool is_loadable = find_kymo_library(kTimerLibrary).find_first_of(" :") == std::string::npos;
    if (is_loadable) {
      auto inside = std::make_unique<sample::TimerSource>(hertz, true);
      environment = inside->environment();
      return std::make_unique<sample::DoubleSource>(std::move(events), std::move(inside));
    }
  } catch (const NotAvailable&) {  // samples without Python's functions are better than none
    environment.clear();
  }
  return std::make_unique<sample::PerfSource>(std::move(events));
}

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

std::unique_ptr<RecordedSamples> RecordedSamples::by_timers(const SampleOptions& options,
                                                            const std::vector<std::string>& command_line,
                                                            collect::Recording& recording, std::string& note) {
  const std::string library = find_kymo_library(kTimerLibrary);
  if (library.find_first_of(" :") != std::string::npos)  // the linker's separators, which cannot be escaped
    throw NotAvailable(
        base::format("{} cannot be loaded into programs: its path must not contain a space or a colon", library));
  auto source = std::make_unique<sample::TimerSource>(options.hertz);
  const uint64_t hertz = source->hertz();
  Environment environment = source->environment();
  std::unique_ptr<RecordedSamples> made(new RecordedSamples(
      std::move(source), {hertz, recording.session(), command_line, "timers in the program", options.piece_ns, "",
                          "not recorded: only the kernel can, and timers in the program sampled it",
                          base::format("{}: timers in the program sampled it{}", kOnlyByKernel,
                                       note.empty() ? "" : ", because of the kernel: " + note)}));
  made->library_ = library;
  made->is_by_timers_ = true;
  made->environment_ = std::move(environment);
  recording.accompany(*made);
  const std::string why = note.empty() ? "" : base::format(" ({})", note);
  note = base::format("CPU samples by timers inside the program, {} a second{}; not recorded: {}", hertz, why,
                      kOnlyByKernel);
  if (hertz < options.hertz && options.is_given)
    note += base::format("; the clock of this kernel permits no timer at {}", sample::rate_text(options.hertz));
  if (options.waits) note += "; --sample-waits needs samples of the kernel";
  if (const std::string obstacle = obstacle_to_libraries(command_line[0]); !obstacle.empty())
    note = base::format("no CPU samples of {}: it {}{}", command_line[0], obstacle, why);
  return made;
}

std::unique_ptr<RecordedSamples> RecordedSamples::of_next_program(const SampleOptions& options,
                                                                  const std::vector<std::string>& command_line,
                                                                  collect::Recording& recording, std::string& note) {
  if (options.hertz == 0) return nullptr;
  if (options.by != SampledBy::Timers) {
    try {
      auto events = sample::PerfEvents::for_next_program(event_options(options));
      note = refused(events);
      const std::string also = also_sampled(options, events), wakes = wake_ups(events), missing = unseen(events);
      Environment environment;
      std::unique_ptr<RecordedSamples> made(new RecordedSamples(
          source_with_python(std::move(events), options.hertz, environment),
          {options.hertz, recording.session(), command_line, "the kernel", options.piece_ns, also, wakes, missing}));
      if (!environment.empty()) made->library_ = find_kymo_library(kTimerLibrary);
      made->environment_ = std::move(environment);
      recording.accompany(*made);
      return made;
    } catch (const NotAvailable& error) {
      note = error.what();
    }
  }
  try {
    if (options.by != SampledBy::Kernel) return by_timers(options, command_line, recording, note);
  } catch (const NotAvailable& error) {
    note += (note.empty() ? "" : "; ") + std::string(error.what());
  }
  note = "no CPU samples: " + note;
  return nullptr;
}

std::unique_ptr<RecordedSamples> RecordedSamples::of_process(pid_t pid, const SampleOptions& options,
                                                             const std::function<collect::Recording&()>& start,
                                                             std::string& note) {
  auto events = sample::PerfEvents::for_process(pid, event_options(options));
  collect::Recording& recording = start();
  note = refused(events);
  const std::string also = also_sampled(options, events), wakes = wake_ups(events), missing = unseen(events);
  std::unique_ptr<RecordedSamples> made(new RecordedSamples(
      std::make_unique<sample::PerfSource>(std::move(events)),
      {options.hertz, recording.session(), {}, "the kernel", options.piece_ns, also, wakes, missing}));
  made->sampler_.add_running(pid);
  recording.accompany(*made);
  return made;
}

void RecordedSamples::add_to(Environment& others) const {
  if (library_.empty()) return;
  others.insert(others.end(), environment_.begin(), environment_.end());
  append_to_variable(others, kPreloadVariable, library_);
  // Otherwise its runtime ends every program in which another library comes first.
  append_to_variable(others, "ASAN_OPTIONS", "verify_asan_link_order=0");
}

sample::SampleTotals RecordedSamples::finish() {
  sampler_.stop();
  return sampler_.totals();
}

}  // namespace kymo::cli
