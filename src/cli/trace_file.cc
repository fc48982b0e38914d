#include "cli/trace_file.h"

#include <unistd.h>

#include <filesystem>

#include "base/temporary_file.h"
#include "base/text.h"
#include "cli/read_progress.h"
#include "cli/terminal.h"
#include "cli/units.h"
#include "collect/recover.h"
#include "import/import.h"
#include "kymo/error.h"
#include "options/command_line.h"
#include "trace/append_file.h"

namespace kymo::cli {

namespace {

// Opens a copy of the file that includes what dead processes left, for a file that must not or cannot be changed.
trace::Reader open_copy(const std::string& path) {
  const std::string copy = collect::whole_copy(path);
  try {
    trace::Reader reader(copy, path);
    ::unlink(copy.c_str());  // the reader has it open
    return reader;
  } catch (...) {
    ::unlink(copy.c_str());
    throw;
  }
}

// Reads a trace of another tool through a temporary file that exists only as long as the reader.
trace::Reader open_imported(const std::string& path, const OpenOptions& options) {
  const base::TemporaryFile copy;
  import_file(path, copy.path(), copy.name(), options);
  return trace::Reader(copy.path(), path);  // it has the file open
}

}  // namespace

kymo::import::Imported import_file(const std::string& path, const std::string& output, const std::string& output_name,
                                   const OpenOptions& options) {
  std::error_code ignored;
  const uintmax_t size = std::filesystem::file_size(path, ignored);
  ProgressBar bar(ignored ? 0 : size, "importing " + path);
  const auto on_read = [&](uint64_t bytes) { bar.add(bytes); };
  return import::import_trace(path, output,
                              {.on_read = on_read, .range_values = options.range_values, .output_name = output_name});
}

void refuse_standard_output(const char* command, const std::string& output) {
  if (output != "-") return;
  throw options::UsageError(command, "-o: a trace cannot be written to standard output; name a file, such as run.kymo");
}

namespace {

struct Opened {
  trace::Reader reader;
  uint64_t live_processes = 0;
};

Opened open_recovered(const std::string& path, const OpenOptions& options) {
  if (import::format_of(path)) return {open_imported(path, options)};
  collect::Recovered recovered;
  std::string failure;
  try {
    recovered = collect::recover(path);
  } catch (const Error& error) {
    failure = error.what();
  }
  trace::Reader reader(path);  // first, so that a file that is not a trace gives only one message
  const bool being_written = recovered.live_processes > 0 || trace::is_being_written(path);

  if (!failure.empty() || recovered.elsewhere > 0) {
    try {
      reader = open_copy(path);
    } catch (const Error& error) {
      if (failure.empty()) failure = error.what();
      reader.set_unrecovered(failure);
      say_warning("cannot recover what dead processes left in memory: " + failure);
    }
  }
  reader.set_being_written(being_written);
  if (recovered.processes > 0) {
    say(base::format("recovered {} that {} left in memory", count_of(recovered.events, "event"),
                     count_of(recovered.processes, "dead process", "dead processes")));
  }
  if (recovered.elsewhere > 0)
    say("this is a copy: events that dead processes left in memory are shown, and are kept there for the original");
  return {std::move(reader), recovered.live_processes};
}

}  // namespace

trace::Reader open_trace(const std::string& path) { return open_trace_with(path, {}); }

trace::Reader open_trace_to_follow(const std::string& path) { return open_recovered(path, {}).reader; }

trace::Reader open_trace_with(const std::string& path, const OpenOptions& options) {
  Opened opened = open_recovered(path, options);
  if (opened.reader.is_being_written()) {
    say(base::format(
        "{} still recording into this file: later events are not shown",
        opened.live_processes <= 1 ? "a process is" : count_of(opened.live_processes, "", "processes are")));
  }
  return std::move(opened.reader);
}

}  // namespace kymo::cli
