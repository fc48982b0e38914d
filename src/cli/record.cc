// `kymo record`: runs a program and records it. The file is complete no matter how the program ends.

#include <cstring>
#include <exception>
#include <filesystem>
#include <memory>
#include <system_error>

#include "analyze/summary.h"
#include "base/json_writer.h"
#include "base/printable.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/ledger.h"
#include "cli/memory_library.h"
#include "cli/nothing_recorded.h"
#include "cli/program.h"
#include "cli/record_options.h"
#include "cli/signals.h"
#include "cli/terminal.h"
#include "cli/units.h"
#include "cli/watch.h"
#include "collect/recording.h"
#include "options/command_line.h"
#include "trace/reader.h"

namespace kymo::cli {
namespace {

using collect::Progress;
using collect::Recording;
namespace fs = std::filesystem;

std::unique_ptr<Recording> start_recording(const RecordOptions& options) {
  try {
    return std::make_unique<Recording>(options.output, options.session,
                                       options.append ? Recording::Existing::Append : Recording::Existing::Replace);
  } catch (const InvalidArgument& error) {
    throw options::UsageError("record", error.what());
  }
}

// How much was recorded, or the likely reason why nothing was.
std::string summary_text(const Progress& progress, const RecordOptions& options) {
  if (progress.processes == 0 && !options.memory.empty())
    return "nothing was recorded: no program loaded the library of Kymo (is it linked statically, or does it change "
           "its user?)";
  if (progress.processes == 0) return nothing_recorded(options.program[0], options.interfaces.selected());
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
std::string summary_json(const Progress& progress, const Ending& ending, const Ledger& ledger) {
  base::JsonWriter json(base::JsonWriter::Layout::OneLine);
  json.begin_object();
  json.field("file", progress.file);
  json.field("events", progress.events);
  json.field("unfinished", progress.unfinished);
  json.field("processes", progress.processes);
  json.field("live_processes", progress.live_processes);
  json.field("threads", progress.threads);
  json.field("bytes", progress.bytes);
  json.field("lost", progress.lost);
  json.field("moved", progress.is_elsewhere);
  json.field("exit_code", ending.exit_code());
  ledger.write(json);
  json.end_object();
  return json.text();
}

Ledger ledger_of(const Progress& progress) {
  if (progress.lost == 0 || progress.is_elsewhere) return Ledger(analyze::Summary{});
  return Ledger(analyze::summarise(trace::Reader(progress.file)));
}

void report(const Progress& progress, const RecordOptions& options, const Ending& ending) {
  if (ending.signal != 0) {
    const char* name = ::sigdescr_np(ending.signal);
    say(base::format("{} was killed by signal {} ({})", base::printable(options.program[0]), ending.signal,
                     name != nullptr ? name : "unknown"));
  }
  const Ledger ledger = ledger_of(progress);
  if (options.json) return print_error(summary_json(progress, ending, ledger));
  if (progress.is_elsewhere) {
    say_warning(base::format("{} was moved, replaced or deleted while it was written: the trace is not there",
                             base::printable(progress.file)));
  } else if (!options.quiet) {
    say(summary_text(progress, options));
  }
  if (!options.quiet && progress.live_processes > 0) {
    say(base::format("{} still running, no longer recorded",
                     count_of(progress.live_processes, "process it started is", "processes it started are")));
  }
  ledger.show();
}

int record_program(const RecordOptions& options) {
  const std::string path =
      find_program(options.program[0]);  // first, so that a missing program does not overwrite an older trace
  std::error_code ignored;
  const bool existed = fs::exists(options.output, ignored);
  const uint64_t replaced = existed && !options.append ? fs::file_size(options.output, ignored) : 0;
  Program::Environment memory;
  if (!options.memory.empty()) {
    check_allocator(path);
    memory = memory_environment(options.memory);
  }
  const Variables injected = interface_environment_or_warning(options.interfaces.selected());
  SignalInbox inbox(kWatchedSignals);
  auto recording = start_recording(options);
  if (replaced != 0 && !ignored && !options.quiet)
    say(base::format("replacing {}, a trace of {}", base::printable(options.output), bytes_text(replaced)));

  Ending ending;
  try {
    Program::Environment environment = recording->environment();
    environment.insert(environment.end(), memory.begin(), memory.end());
    environment.insert(environment.end(), injected.begin(), injected.end());
    Program program(path, options.program, environment, inbox.program_mask());
    ending = watch(*recording, program, inbox, options);
  } catch (const CannotRun&) {
    recording.reset();
    if (!existed) fs::remove(options.output, ignored);
    throw;
  }

  try {
    const Progress progress = recording->finish();
    report(progress, options, ending);
    const bool is_whole = progress.lost == 0 && !progress.is_elsewhere;
    if (options.strict && !is_whole && ending.exit_code() == kDone) return kLossOrDamage;
    return ending.exit_code();
  } catch (const std::exception& error) {
    say_error(error.what());
    return ending.exit_code() == kDone ? kFailed : ending.exit_code();  // the program's own failure comes first
  }
}

}  // namespace

int record(const Arguments& arguments) {
  const auto options = read_record_options(arguments);
  if (!options) return kDone;
  try {
    return record_program(*options);
  } catch (const CannotRun& error) {
    say_error(error.what());
    return error.exit_code();
  }
}

}  // namespace kymo::cli
