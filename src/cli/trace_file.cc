#include "cli/trace_file.h"

#include <unistd.h>

#include "base/text.h"
#include "cli/terminal.h"
#include "cli/units.h"
#include "collect/recording.h"
#include "kymo/error.h"
#include "trace/append_file.h"

namespace kymo::cli {

namespace {

// With what dead processes left, of a file that is not to be changed or cannot be.
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

}  // namespace

trace::Reader open_trace(const std::string& path) {
  collect::Recovered recovered;
  std::string failure;
  try {
    recovered = collect::recover(path);
  } catch (const Error& error) {
    failure = error.what();
  }
  trace::Reader reader(path);  // first, so that a file which is no trace gives one message and not two
  const bool being_written = recovered.live_processes > 0 || trace::is_being_written(path);

  if (!failure.empty() || recovered.elsewhere > 0) {
    try {
      reader = open_copy(path);
    } catch (const Error& error) {
      say_warning("what dead processes left was not brought in: " + (failure.empty() ? error.what() : failure));
    }
  }
  reader.set_being_written(being_written);
  if (recovered.processes > 0) {
    say(base::format("brought in {} that {} had left in memory", count_of(recovered.events, "event"),
                     count_of(recovered.processes, "dead process", "dead processes")));
  }
  if (recovered.elsewhere > 0)
    say("this is a copy: what dead processes left in memory is shown, and stays there for the original");
  if (being_written) {
    say(base::format(
        "{} still recording into this file: what is shown is a part",
        recovered.live_processes <= 1 ? "a process is" : count_of(recovered.live_processes, "", "processes are")));
  }
  return reader;
}

}  // namespace kymo::cli
