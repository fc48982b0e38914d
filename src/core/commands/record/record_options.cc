#include "commands/record/record_options.h"

#include <algorithm>
#include <bit>
#include <filesystem>

#include "base/text.h"
#include "base/units.h"
#include "cli/trace_file.h"
#include "heap/heap_recorder.h"
#include "options/command_line.h"

namespace kymo::cli {
namespace {

constexpr uint64_t kMaxSizeToRound = uint64_t{1} << 62;  // above this there is no next power of two

void take_flight(RecordOptions& options, const std::string& text) {
  const base::Flight flight = base::parse_flight(text);
  options.flight = true;
  if (flight.seconds > 0) options.session.flight_seconds = flight.seconds;
  if (flight.bytes > 0) options.session.flight_bytes = flight.bytes;
}

// A rate begins with a digit, and no name of CUPTI does.
void take_gpu_counters(RecordOptions& options, const std::string& text) {
  options.gpu_counters.is_given = true;
  if (!text.empty() && text[0] >= '0' && text[0] <= '9') {
    options.gpu_counters.hertz = parse_sample_rate(text);
    return;
  }
  options.gpu_counters.names = base::split(text, ',');
  for (const std::string& name : options.gpu_counters.names)
    if (name.find("__") == name.npos)
      throw InvalidArgument(
          base::format("'{}' is neither a rate (1kHz) nor a counter of CUPTI, such as pcie__read_bytes", name));
}

// Short pieces for a short time: what is kept is longer by up to a piece.
uint64_t piece_of_flight(double seconds) {
  constexpr double kPieces = 10, kShortestNs = 10'000'000, kNanosecondsPerSecond = 1e9;
  return static_cast<uint64_t>(
      std::clamp(seconds * kNanosecondsPerSecond / kPieces, kShortestNs, static_cast<double>(sample::kPieceNs)));
}

void check_memory(const std::string& text) {
  heap::HeapMode mode;
  if (!text.empty() && (!heap::parse_heap_mode(text.c_str(), mode) || !mode.on))
    throw options::UsageError("record",
                              "--memory: '" + text + "' is not valid; use all or sample:BYTES, such as sample:512k");
}

void check_python(const std::string& text) {
  if (!text.empty() && text != "yes" && text != "all")
    throw options::UsageError("record", "--python: '" + text + "' is not valid; use --python or --python=all");
}

void check_sample_options(const SampleOptions& options) {
  const char* const without_effect = options.waits                     ? "--sample-waits"
                                     : options.by == SampledBy::Kernel ? "--sampler kernel"
                                     : options.by == SampledBy::Timers ? "--sampler timers"
                                                                       : nullptr;
  if (options.hertz != 0 || without_effect == nullptr) return;
  throw options::UsageError(
      "record", base::format("{} has no effect without samples: {}", without_effect,
                             options.is_given ? "leave out --sample off" : "KYMO_SAMPLE is off; add --sample 1kHz"));
}

void check_gpu_options(const RecordOptions& options) {
  const auto exclude = [](const char* one, const char* other) {
    throw options::UsageError("record", base::format("{} and {} exclude each other", one, other));
  };
  if (options.gpu_counters.is_given && options.interfaces.without_gpu_counters)
    exclude("--gpu-counters", "--without gpu-counters");
  if (options.gpu_counters.is_given && options.gpu_stalls) exclude("--gpu-counters", "--gpu-stalls");
  if (options.gpu_stalls && options.flight) exclude("--gpu-stalls", "--flight");
  if ((options.gpu_counters.is_given || options.gpu_stalls) &&
      std::ranges::count(options.interfaces.without, record::Interface::Cuda) != 0)
    throw options::UsageError("record", base::format("{} needs the interface cuda: leave out --without cuda",
                                                     options.gpu_stalls ? "--gpu-stalls" : "--gpu-counters"));
}

void check_interfaces(const InterfaceChoice& choice) {
  for (const record::Interface one : choice.with)
    if (std::ranges::find(choice.without, one) != choice.without.end())
      throw options::UsageError(
          "record", base::format("{0} is in --with and in --without: leave out one of them", record::name_of(one)));
}

void check_process_options(const RecordOptions& options) {
  if (!options.program.empty())
    throw options::UsageError("record", base::format("--pid {} records a process that runs: leave out '{}'",
                                                     options.pid, options.program[0]));
  if (!options.memory.empty())
    throw options::UsageError("record", "--memory needs a program that kymo starts: it has no effect with --pid");
  if (!options.python.empty())
    throw options::UsageError("record", "--python needs a program that kymo starts: it has no effect with --pid");
  const SessionOptions defaults;
  const char* const without_effect =
      options.session.policy != defaults.policy                                        ? "--policy"
      : options.session.ring_bytes != defaults.ring_bytes                              ? "--ring-size"
      : !options.interfaces.with.empty() || !options.interfaces.compilers.empty()      ? "--with"
      : !options.interfaces.without.empty() || options.interfaces.without_gpu_counters ? "--without"
      : options.gpu_counters.is_given                                                  ? "--gpu-counters"
      : options.gpu_stalls                                                             ? "--gpu-stalls"
      : options.samples.by == SampledBy::Timers                                        ? "--sampler timers"
                                                                                       : nullptr;
  if (without_effect != nullptr)
    throw options::UsageError(
        "record", base::format("{} is for a program that kymo starts: it has no effect with --pid, which only samples",
                               without_effect));
  if (options.samples.hertz == 0)
    throw options::UsageError("record", "--pid without samples records nothing: leave out --sample off");
}

void add_options(options::CommandLine& line, RecordOptions& options) {
  line.value("-o,--output", "FILE", options.output, "the trace to write; default: PROGRAM.kymo in this\nfolder");
  line.flag("--append", options.append, "add to the trace instead of replacing it");
  line.choice("--policy", options.session.policy,
              {{"block", Policy::Block}, {"drop", Policy::Drop}, {"overwrite", Policy::Overwrite}},
              "what a thread does when its ring is full: wait\n"
              "(default), drop new events, or overwrite old events");
  line.text(
      "--flight", "TIME|SIZE", [&options](const std::string& text) { take_flight(options, text); },
      "keep only the latest events, in memory, and write\n"
      "them at the end or on SIGUSR2: 30s, 2m, 500ms, 64MB,\n"
      "1GiB; repeat it to set both a time and a size");
  line.text(
      "--ring-size", "SIZE",
      [&options](const std::string& text) {
        constexpr uint64_t kMin = 64 << 10, kMax = 64 << 20;
        options.session.ring_bytes =
            std::bit_ceil(std::min(base::parse_bytes(text, "64KiB, 1MiB or 64MiB", "64MiB"), kMaxSizeToRound));
        if (options.session.ring_bytes < kMin || options.session.ring_bytes > kMax)
          throw InvalidArgument(base::format("'{}' is out of range; use 64KiB to 64MiB", text));
      },
      "memory for each thread, rounded up to a power of\n"
      "two; default: 1MiB");
  line.optional_value("--memory", "[=sample:SIZE]", "all", options.memory,
                      "also record the heap, even of programs without Kymo:\n"
                      "each allocation with its stack, or one sample for\n"
                      "each SIZE bytes (sample:512k)");
  line.optional_value("--python", "[=all]", "yes", options.python,
                      "also record every function of Python programs, from\n"
                      "Python 3.11 on; all: functions written in C too");
  add_interface_options(line, options.interfaces, true);
  line.text("--sample", "RATE",
            [&options](const std::string& text) {
              options.samples.hertz = parse_sample_rate(text);
              options.samples.is_given = true;
            },
            "how often the functions of each running thread are\n"
            "sampled: 1kHz (default), 10kHz, off; $KYMO_SAMPLE\n"
            "sets another default",
            {"1kHz", "10kHz", "off"});
  line.flag("--sample-waits", options.samples.waits,
            "the functions of every wait (kymo stats --by wait),\n"
            "instead of at most 100 a second for each thread; each\n"
            "costs some microseconds");
  line.text("--gpu-counters", "RATE|NAMES", [&options](const std::string& text) { take_gpu_counters(options, text); },
            "how often the counters of GPUs are sampled: 1kHz\n"
            "(default where the rights are there), or which ones,\n"
            "by CUPTI's names, separated by commas; repeat it to\n"
            "set both",
            {"1kHz", "10kHz"});
  line.flag("--gpu-stalls", options.gpu_stalls,
            "instead of these counters, sample which instructions\n"
            "of CUDA kernels wait, and why (kymo stats --by stall)");
  line.text(
      "--pid", "PID",
      [&options](const std::string& text) {
        options.pid = base::parse_count(text);
        if (options.pid > INT32_MAX) throw InvalidArgument(base::format("'{}' is not the id of a process", text));
      },
      "sample a process that already runs, instead of\n"
      "starting a program");
  line.text(
      "--duration", "TIME",
      [&options](const std::string& text) {
        options.duration_ns = base::parse_duration_ns(text);
        if (options.duration_ns == 0) throw InvalidArgument(base::format("'{}' would record nothing: use 5s", text));
      },
      "with --pid: end after this time; default: when the\n"
      "process ends, or on Ctrl-C");
  line.choice("--stacks", options.samples.stacks,
              {{"copies", sample::Stacks::Copies}, {"frame-pointers", sample::Stacks::FramePointers}},
              "how the stack of a sample is found: from a copy of\n"
              "its memory (default on x86-64), or by frame pointers,\n"
              "which costs less and needs programs that have them");
  line.choice("--sampler", options.samples.by,
              {{"auto", SampledBy::Any}, {"kernel", SampledBy::Kernel}, {"timers", SampledBy::Timers}},
              "who samples: the kernel, or timers inside the\n"
              "programs if it refuses (default: auto)");
  line.flag("--strict", options.strict,
            "exit with 3 if anything was lost, unless the program\nitself failed: then with its code");
  line.flag("-q,--quiet", options.quiet, "print only problems");
  line.flag("--progress", options.progress,
            "show how the recording grows, on a terminal; the line\n"
            "overwrites prompts of the program");
  line.flag("--json", options.json, "print the summary as one line of JSON, on standard error");
}

}  // namespace

std::optional<RecordOptions> read_record_options(Arguments arguments) {
  RecordOptions options;
  bool no_sample = false;
  try {
    options.samples = default_sample_options();
  } catch (const InvalidArgument& error) {
    throw options::UsageError("record", error.what());
  }
  options::CommandLine line(
      "record", "kymo record [options] [--] PROGRAM [ARGUMENTS…]\n       kymo record [options] --pid PID",
      "Runs a program and records it and every program that it starts: samples of the functions that use the CPU,\n"
      "Kymo's annotations, and those that programs make for other tools (NVTX), without a change to the program.\n"
      "The program keeps its terminal, its signals and its exit code. Ctrl-C goes to the program, and a\n"
      "second Ctrl-C kills it. The file is complete in both cases.",
      "kymo record -o run.kymo -- ./train --epochs 2\n"
      "kymo record --flight 30s -- ./server    # kill -USR2 KYMO writes the last 30 s");
  add_options(line, options);
  line.flag("--no-sample", no_sample, "the same as --sample off");
  line.stop_at_first_argument();

  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  const Arguments from_dashes(dashes, arguments.end());
  arguments.erase(dashes, arguments.end());
  if (!line.read(arguments)) return std::nullopt;
  check_memory(options.memory);
  check_python(options.python);
  if (no_sample) {
    options.samples.hertz = 0;
    options.samples.is_given = true;
  }
  if (options.pid != 0 && !options.samples.is_given && options.samples.hertz == 0)
    options.samples.hertz = SampleOptions{}.hertz;
  check_sample_options(options.samples);
  check_interfaces(options.interfaces);

  options.program = line.remaining();
  // After the program's name, "--" is an argument of the program.
  const size_t skipped = options.program.empty() && !from_dashes.empty() ? 1 : 0;
  options.program.insert(options.program.end(), from_dashes.begin() + skipped, from_dashes.end());
  if (options.pid != 0)
    check_process_options(options);
  else if (options.program.empty())
    throw options::UsageError("record", "no program given. Usage: kymo record [options] -- PROGRAM [args]");
  refuse_standard_output("record", options.output);
  if (options.session.policy == Policy::Overwrite) options.flight = true;
  check_gpu_options(options);
  if (options.session.flight_seconds > 0) options.samples.piece_ns = piece_of_flight(options.session.flight_seconds);
  if (options.duration_ns != 0 && options.pid == 0)
    throw options::UsageError("record", "--duration is for --pid: a program is recorded until it ends");
  if (options.output.empty() && options.pid != 0) options.output = base::format("{}.kymo", options.pid);
  if (options.output.empty()) options.output = std::filesystem::path(options.program[0]).filename().string() + ".kymo";
  return options;
}

}  // namespace kymo::cli
