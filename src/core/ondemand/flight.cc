#include "ondemand/flight.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mutex>
#include <new>

#include "base/environment.h"
#include "base/file.h"
#include "base/text.h"
#include "collect/options.h"
#include "collect/own_session.h"
#include "kymo/error.h"
#include "kymo/session.h"
#include "ondemand/output_file.h"
#include "ondemand/recorder.h"

namespace kymo::ondemand {
namespace {

// Why it does not run, for requests that need it.
struct FlightState {
  std::mutex mutex;
  std::string path;
  std::string problem;
};
FlightState& flight_state() {
  static FlightState* const state = new FlightState;
  return *state;
}

bool flight_is_asked_for() {
  const char* wanted = base::environment("KYMO_FLIGHT");
  return wanted != nullptr && *wanted != '\0';
}

// Until it is dumped, the file only identifies the owner of the flight recorder: `kymo recover` uses it to find the
// data if the program dies.
std::string flight_path() {
  const auto folders = folders_in("KYMO_TRACE_DIR");
  const std::string folder = folders.empty() ? "/tmp" : folders.front();
  return base::format("{}/kymo-flight-{}-{}.kymo", folder, program_invocation_short_name, getpid());
}

}  // namespace

void start_flight() noexcept {
  if (!flight_is_asked_for() || the_recorder().owner() != RecorderOwner::Nobody) return;
  FlightState& state = flight_state();
  const std::lock_guard lock(state.mutex);
  try {
    if (collect::session_taken()) return;
    state.path = flight_path();
    unlink(state.path.c_str());  // left by an earlier process with this pid; if another user owns it, open() fails
    const base::FileDescriptor created(
        open(state.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!created) throw Error(base::format("cannot write {}: {}", state.path, strerror(errno)));
    the_recorder().begin(RecorderOwner::Flight, state.path, collect::options_from_environment(), false);
    state.problem.clear();
  } catch (const std::exception& error) {
    state.problem = error.what();
  }
}

void stop_flight() noexcept {
  FlightState& state = flight_state();
  const std::lock_guard lock(state.mutex);
  if (the_recorder().owner() != RecorderOwner::Flight) return;
  the_recorder().forget_flight();
}

void require_flight() {
  if (the_recorder().owner() == RecorderOwner::Flight) return;
  if (!flight_is_asked_for())
    throw Error("this program has no flight recorder: start it with KYMO_FLIGHT=64MB, or 30s, in its environment");
  FlightState& state = flight_state();
  const std::lock_guard lock(state.mutex);
  if (!state.problem.empty()) throw Error(base::format("the flight recorder does not run: {}", state.problem));
  if (!collect::recorded_from_outside())
    throw Error("the flight recorder does not run, because the program has started a recording of its own");
}

void renew_flight_in_child() noexcept { new (&flight_state().mutex) std::mutex; }

}  // namespace kymo::ondemand
