// `kymo record`: runs a program and records it. The file is complete no matter how the program ends.

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <system_error>

#include "analyze/functions/samples.h"
#include "analyze/summary.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json_writer.h"
#include "base/printable.h"
#include "base/text.h"
#include "cli/ledger.h"
#include "cli/signals.h"
#include "cli/terminal.h"
#include "cli/units.h"
#include "collect/recording.h"
#include "commands/record/commands.h"
#include "commands/record/libraries.h"
#include "commands/record/nothing_recorded.h"
#include "commands/record/program.h"
#include "commands/record/record_options.h"
#include "commands/record/watch.h"
#include "options/command_line.h"
#include "sample/gpu_counters.h"
#include "trace/reader.h"

namespace kymo::cli {
namespace {

using collect::Progress;
using collect::Recording;
namespace fs = std::filesystem;

// The bytes of the older trace that the recording replaces; 0: none.
uint64_t replaced_bytes(const RecordOptions& options) {
  std::error_code missing;
  const uint64_t bytes = options.append ? 0 : fs::file_size(options.output, missing);
  return missing ? 0 : bytes;
}

void say_replaced(const RecordOptions& options, uint64_t bytes) {
  if (bytes != 0 && !options.quiet)
    say(base::format("replacing {}, a trace of {}", base::printable(options.output), bytes_text(bytes)));
}

std::unique_ptr<Recording> start_recording(const RecordOptions& options) {
  try {
    return std::make_unique<Recording>(options.output, options.session,
                                       options.append ? Recording::Existing::Append : Recording::Existing::Replace);
  } catch (const InvalidArgument& error) {
    throw options::UsageError("record", error.what());
  }
}

// A flight recorder keeps only the latest events. Those of the samples are counted apart.
uint64_t kept_events(const std::string& file) {
  const trace::Reader reader(file);
  uint64_t events = 0;
  for (const trace::EventChunk& chunk : reader.event_chunks()) {
    const auto writer = reader.writers().find(chunk.writer);
    if (writer != reader.writers().end() && !functions::has_samples(writer->second))
      events += chunk.range_count + chunk.point_count;
  }
  return events;
}

// A flight recorder keeps only the latest samples.
struct FileSamples : sample::SampleTotals {
  FileSamples(const sample::SampleTotals& totals, uint64_t rate, const Progress& progress, bool is_flight,
              uint64_t cpu_ns)
      : SampleTotals(totals), hertz(rate), taken(totals.samples), used_ns(cpu_ns) {
    if (!is_flight || progress.is_elsewhere || samples + waits == 0) return;
    const trace::Reader reader(progress.file);
    samples = functions::read_samples(reader, functions::What::Cpu).samples;
    if (waits != 0) {
      const functions::Samples kept_waits = functions::read_samples(reader, functions::What::Waits);
      all_waits = kept_waits.samples;
      waits = kept_waits.samples - kept_waits.without_stack;
    }
  }
  uint64_t hertz;  // as it was possible: timers have a lower limit
  uint64_t taken;
  uint64_t used_ns;  // CPU time of the process, or of all programs, as the system counts it
};

// Of a process that was sampled.
std::string nothing_of_process(const RecordOptions& options, const FileSamples& samples) {
  constexpr uint64_t kMillisecond = 1'000'000;
  if (samples.used_ns < kMillisecond)
    return base::format("nothing was recorded: process {} did not use a CPU", options.pid);
  return base::format(
      "nothing was recorded: process {} used the CPU for {}, without a sample at {}; use a higher rate (--sample "
      "1kHz), "
      "or a longer time",
      options.pid, duration_text(samples.used_ns), sample::rate_text(samples.hertz));
}

// Every program waits a little, so short waits are no content unless they were asked for.
bool has_samples(const RecordOptions& options, const sample::SampleTotals& samples) {
  constexpr uint64_t kLongNs = 100'000'000;
  const bool are_waits_content = options.samples.waits || samples.off_ns >= kLongNs;
  return samples.samples + (are_waits_content ? samples.waits : 0) != 0;
}

bool is_empty(const Progress& progress, const RecordOptions& options, const sample::SampleTotals& samples) {
  return !has_samples(options, samples) && progress.events + progress.unfinished == 0;
}

// "98,311 waits (1,204 with a stack)"
std::string waits_text(const sample::SampleTotals& samples) {
  const std::string all = count_of(samples.all_waits, "wait");
  return samples.waits == samples.all_waits ? all
                                            : base::format("{} ({} with a stack)", all, count_text(samples.waits));
}

// How much was recorded, or the likely reason why nothing was.
std::string summary_text(const Progress& progress, const RecordOptions& options, const FileSamples& samples) {
  if (has_samples(options, samples)) {
    std::string what = count_of(samples.samples, "sample");
    if (samples.taken > samples.samples) what += base::format(" (the last of {})", count_text(samples.taken));
    if (samples.waits != 0) what += ", " + waits_text(samples);
    if (progress.events != 0) what = base::format("{}, {}", count_of(progress.events, "event"), what);
    if (progress.unfinished != 0) what += base::format(", {}", count_of(progress.unfinished, "unfinished range"));
    return base::format("{} from {}, {} -> {} ({})", what,
                        count_of(std::max(progress.processes, samples.processes), "process", "processes"),
                        count_of(std::max(progress.threads, samples.threads), "thread"), base::printable(progress.file),
                        bytes_text(progress.bytes));
  }
  if (progress.processes == 0 && !options.memory.empty())
    return "nothing was recorded: no program loaded the library of Kymo (is it linked statically, or does it change "
           "its user?)";
  if (options.pid != 0) return nothing_of_process(options, samples);
  // Kymo's library may have been loaded into a static program, and found there that it does not work.
  const bool has_nothing = is_empty(progress, options, samples) && progress.lost == 0;
  if (progress.processes == 0 || (has_nothing && !obstacle_to_libraries(options.program[0]).empty()))
    return nothing_recorded(options.program[0], options.interfaces.selected(), samples.processes != 0);
  if (progress.events == 0 && progress.unfinished == 0 && progress.lost != 0)
    return base::format("nothing was recorded, although {} linked with Kymo ran",
                        count_of(progress.processes, "program"));
  if (progress.events == 0 && progress.unfinished == 0) {
    return base::format("nothing was recorded: {} linked with Kymo ran, but without annotations",
                        count_of(progress.processes, "program"));
  }
  const std::string unfinished =
      progress.unfinished == 0 ? "" : base::format(", {}", count_of(progress.unfinished, "unfinished range"));
  return base::format("{}{} from {}, {} -> {} ({})", count_of(progress.events, "event"), unfinished,
                      count_of(progress.processes, "process", "processes"), count_of(progress.threads, "thread"),
                      base::printable(progress.file), bytes_text(progress.bytes));
}

// On one line, because the output of the program may come before it.
std::string summary_json(const Progress& progress, const Ending& ending, const Ledger& ledger,
                         const FileSamples& samples) {
  base::JsonWriter json(base::JsonWriter::Layout::OneLine);
  json.begin_object();
  json.field("file", progress.file);
  json.field("events", progress.events);
  json.field("unfinished", progress.unfinished);
  json.field("processes", progress.processes);
  json.field("live_processes", std::max(progress.live_processes, samples.running));
  json.field("threads", progress.threads);
  json.field("bytes", progress.bytes);
  json.field("lost", progress.lost);
  json.field("samples", samples.samples);
  json.field("samples_taken", samples.taken);
  json.field("samples_lost", samples.lost);
  if (samples.waits != 0) {
    json.field("waits", samples.all_waits);
    json.field("waits_with_stack", samples.waits);
  }
  json.field("sampled_processes", samples.processes);
  json.field("moved", progress.is_elsewhere);
  json.field("exit_code", ending.exit_code());
  ledger.write(json);
  json.end_object();
  return json.text();
}

Ledger ledger_of(const Progress& progress, const sample::SampleTotals& samples) {
  if (progress.lost + samples.lost + samples.lost_others + samples.throttled == 0 || progress.is_elsewhere)
    return Ledger(analyze::Summary{});
  return Ledger(analyze::summarise(trace::Reader(progress.file)));
}

// A lower rate has no effect on what does not come from the clock.
std::string remedy_for_lost(const SampleOptions& options) {
  return options.waits ? "record without --sample-waits, or use a lower rate (--sample)"
                       : "use a lower rate (--sample)";
}

void report(Progress progress, const RecordOptions& options, const Ending& ending, const FileSamples& samples) {
  if (options.flight && progress.events != 0 && !progress.is_elsewhere) progress.events = kept_events(progress.file);
  if (ending.signal != 0) {
    const char* name = ::sigdescr_np(ending.signal);
    say(base::format("{} was killed by signal {} ({})", base::printable(options.program[0]), ending.signal,
                     name != nullptr ? name : "unknown"));
  }
  const Ledger ledger = ledger_of(progress, samples);
  if (options.json) return print_error(summary_json(progress, ending, ledger, samples));
  if (progress.is_elsewhere) {
    say_warning(base::format("{} was moved, replaced or deleted while it was written: the trace is not there",
                             base::printable(progress.file)));
  } else if (!options.quiet) {
    say(summary_text(progress, options, samples));
    const bool are_only_samples = samples.samples != 0 && progress.events == 0 && options.pid == 0;
    if (const std::string why = are_only_samples ? obstacle_to_libraries(options.program[0]) : ""; !why.empty())
      say(base::format("only samples were recorded: {} {}", base::printable(options.program[0]), why));
  }
  // A process that is sampled may also record into its segment.
  const uint64_t running = options.pid != 0 ? 0 : std::max(progress.live_processes, samples.running);
  if (!options.quiet && running > 0) {
    say(base::format("{} still running: what {} from now on is not in the trace",
                     count_of(running, "process it started is", "processes it started are"),
                     running == 1 ? "it does" : "they do"));
  }
  if (!options.quiet && samples.unnamed != 0)
    say(base::format(
        "the names of {} are not in the trace, because there are too many: keep the program until you read it",
        count_of(samples.unnamed, "address", "addresses")));
  ledger.show();
  if (!options.quiet && samples.lost != 0)
    say(base::format("at {}, samples come faster than they can be recorded: {}", sample::rate_text(samples.hertz),
                     remedy_for_lost(options.samples)));
  else if (!options.quiet && samples.lost_others != 0)
    say("threads start, end or wait faster than the kernel's records of it can be read; to record without samples, use "
        "--no-sample");
}

// An empty trace is worth less than the one that it would replace.
void keep_older_trace(Recording& recording, const Progress& progress, const RecordOptions& options,
                      const sample::SampleTotals& samples) {
  if (!is_empty(progress, options, samples) || progress.is_elsewhere || !recording.restore_replaced() || options.quiet)
    return;
  say(base::format("{} is as it was before", base::printable(options.output)));
}

// The counters of the GPUs that the program uses, if it uses one.
struct RecordedGpuCounters : collect::Companion {
  RecordedGpuCounters(const RecordOptions& options, Recording& recording_in)
      : recording(recording_in),
        counters(
            {options.gpu_stalls ? 0 : options.gpu_counters.hertz, options.gpu_counters.names, recording_in.session()}) {
    recording.accompany(*this);
  }
  // Null if they are off.
  static std::unique_ptr<RecordedGpuCounters> of(const RecordOptions& options, Recording& recording) {
    const std::vector<record::Interface> selected = options.interfaces.selected();
    const bool has_cuda = std::ranges::find(selected, record::Interface::Cuda) != selected.end();
    if (!has_cuda || options.interfaces.without_gpu_counters) return nullptr;
    return std::make_unique<RecordedGpuCounters>(options, recording);
  }
  void write(trace::Writer& file) override {
    counters.set_user(recording.cuda_process());
    counters.write(file);
  }
  void end_file(trace::Writer& file) override { counters.end_file(file); }

  Recording& recording;
  sample::GpuCounters counters;
};

// The ending of kymo: that of the program, or its own exit code.
Ending record_program(const RecordOptions& options) {
  const std::string path = find_program(options.program[0]);
  std::error_code ignored;
  const bool existed = fs::exists(options.output, ignored);
  const uint64_t replaced = replaced_bytes(options);
  if (!options.memory.empty()) check_allocator(path);
  const Program::Environment python =
      options.python.empty() ? Program::Environment{} : python_environment(options.python);
  Variables injected = interface_environment_or_warning(options.interfaces.selected());
  std::ranges::copy(settings_environment(options.interfaces), std::back_inserter(injected));
  std::ranges::copy(compiler_environment(options.interfaces.compilers), std::back_inserter(injected));
  if (!options.memory.empty()) add_memory(injected, options.memory);
  if (options.gpu_stalls) injected.emplace_back("KYMO_GPU_STALLS", "1");
  // It is reported here, so the library need not.
  if (is_static_program(path)) injected.emplace_back("KYMO_STATIC_PROGRAM", "reported");
  if (const std::string why = options.python.empty() ? "" : python_obstacle(options.program); !why.empty())
    say_warning(base::format("the Python functions of this program are not recorded: {}", base::printable(why)));
  SignalInbox inbox(kWatchedSignals);
  std::unique_ptr<RecordedSamples> samples;  // before the recording, which uses them until its end
  std::unique_ptr<RecordedGpuCounters> gpu_counters;
  auto recording = start_recording(options);
  gpu_counters = RecordedGpuCounters::of(options, *recording);

  std::string note;
  samples = RecordedSamples::of_next_program(options.samples, options.program, *recording, note);
  Ending ending;
  try {
    Program::Environment environment = recording->environment();
    environment.insert(environment.end(), python.begin(), python.end());
    environment.insert(environment.end(), injected.begin(), injected.end());
    if (samples) samples->add_to(environment);
    Program program(path, options.program, environment, inbox.program_mask());
    say_replaced(options, replaced);
    ending = watch(*recording, program, inbox, options);
  } catch (const CannotRun&) {
    recording.reset();  // an older trace comes back
    if (!existed) fs::remove(options.output, ignored);
    throw;
  }

  try {
    const sample::SampleTotals totals = samples ? samples->finish() : sample::SampleTotals{};
    const std::string gpu_note =
        gpu_counters ? gpu_counters->counters.finish(options.gpu_counters.is_given || options.gpu_stalls)
                     : std::string();
    if (!gpu_note.empty() && !options.quiet) say_warning(base::printable(gpu_note));
    const Progress progress = recording->finish();
    const uint64_t used_ns = cpu_ns_of_children();
    const uint64_t hertz = samples ? samples->hertz() : 0;
    if (!note.empty() && !options.quiet) say_warning(base::printable(note));
    report(progress, options, ending, {totals, hertz, progress, options.flight, used_ns});
    keep_older_trace(*recording, progress, options, totals);
    const std::string unsampled = samples ? unsampled_text(used_ns, totals, hertz, samples->is_by_timers()) : "";
    if (!options.quiet && !options.json && !unsampled.empty()) say(unsampled);
    if (const std::string python = unknown_python_text(totals); !options.quiet && !python.empty()) say_warning(python);
    const bool is_whole = progress.lost + totals.lost + totals.lost_others == 0 && !progress.is_elsewhere;
    if (options.strict && !is_whole && ending.exit_code() == kDone) ending.status = kIncomplete;
  } catch (const std::exception& error) {
    say_error(error.what());
    // The program's own failure comes first.
    if (ending.exit_code() == kDone) ending.status = options.strict ? kIncomplete : kFailed;
  }
  return ending;
}

// The process of a thread; the process itself if it is one. Throws if there is none.
pid_t process_of(pid_t id) {
  std::ifstream file(base::format("/proc/{}/status", id));
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("Tgid:")) continue;
    const pid_t process = static_cast<pid_t>(std::atol(line.c_str() + std::strlen("Tgid:")));
    if (process > 0) return process;
  }
  throw Error(base::format("there is no process {}; 'ps -e' lists those that run", id));
}

// Samples a process that already runs, until it ends, the time is over, or a signal arrives.
int record_process(RecordOptions options) {
  const pid_t pid = process_of(static_cast<pid_t>(options.pid));
  if (pid != static_cast<pid_t>(options.pid) && !options.quiet)
    say(base::format("{} is a thread of process {}: all threads of the process are recorded", options.pid, pid));
  options.pid = static_cast<uint64_t>(pid);
  const base::FileDescriptor process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!process) throw Error(base::format("cannot record process {}: {}", pid, std::strerror(errno)));
  const auto has_ended = [&process] {
    pollfd file{process.get(), POLLIN, 0};
    return ::poll(&file, 1, 0) > 0;
  };
  std::error_code ignored;
  const bool existed = fs::exists(options.output, ignored);
  const uint64_t replaced = replaced_bytes(options);
  SignalInbox inbox(kWatchedSignals);
  std::unique_ptr<RecordedSamples> samples;  // before the recording, which uses it until its end
  std::unique_ptr<Recording> recording;
  std::string note;
  try {
    const auto start = [&]() -> Recording& { return *(recording = start_recording(options)); };
    samples = RecordedSamples::of_process(pid, options.samples, start, note);
    say_replaced(options, replaced);
  } catch (const NotAvailable& error) {
    recording.reset();
    if (!existed) fs::remove(options.output, ignored);
    throw NotAvailable(base::format("cannot sample process {}: {}", pid, error.what()));
  }
  constexpr std::chrono::milliseconds kLookEvery(50);
  const uint64_t end = options.duration_ns == 0 ? ~uint64_t{0} : base::monotonic_ns() + options.duration_ns;
  const uint64_t used_before_ns = cpu_ns_of_process(pid);
  uint64_t used_ns = used_before_ns;
  while (base::monotonic_ns() < end && !has_ended()) {
    used_ns = std::max(used_ns, cpu_ns_of_process(pid));
    const auto message = inbox.wait(kLookEvery);
    if (!message || message->signal == SIGCHLD) continue;
    if (message->signal != SIGUSR2 || !options.flight) break;
    dump_flight(*recording, options);
  }
  const sample::SampleTotals totals = samples->finish();
  const Progress progress = recording->finish();
  if (!note.empty() && !options.quiet) say_warning(base::printable(note));
  report(progress, options, {}, {totals, samples->hertz(), progress, options.flight, used_ns - used_before_ns});
  keep_older_trace(*recording, progress, options, totals);
  return options.strict && progress.lost + totals.lost + totals.lost_others != 0 ? kIncomplete : kDone;
}

}  // namespace

int record(const Arguments& arguments) {
  const auto options = read_record_options(arguments);
  if (!options) return kDone;
  if (options->pid != 0) return record_process(*options);
  try {
    const Ending ending = record_program(*options);
    if (ending.signal != 0) die_by(ending.signal);
    return ending.exit_code();
  } catch (const CannotRun& error) {
    say_error(error.what());
    return error.exit_code();
  }
}

}  // namespace kymo::cli
