#include "cli/trace_file.h"

#include "base/text.h"
#include "cli/terminal.h"
#include "cli/units.h"
#include "collect/recording.h"
#include "kymo/error.h"

namespace kymo::cli {

trace::Reader open_trace(const std::string& path) {
  collect::Recovered recovered;
  std::string failure;
  try {
    recovered = collect::recover(path);
  } catch (const Error& error) {
    failure = error.what();
  }
  trace::Reader reader(path);  // first, so that a file which is no trace gives one message and not two

  if (!failure.empty()) say_warning("what dead processes left was not brought in: " + failure);
  if (recovered.processes > 0) {
    say(base::format("brought in {} that {} had left in memory", count_of(recovered.events, "event"),
                     count_of(recovered.processes, "dead process", "dead processes")));
  }
  if (recovered.live_processes > 0) {
    say(base::format(
        "{} still recording into this file: what is shown is a part",
        recovered.live_processes == 1 ? "a process is" : count_of(recovered.live_processes, "", "processes are")));
  }
  return reader;
}

}  // namespace kymo::cli
