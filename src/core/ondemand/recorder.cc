#include "ondemand/recorder.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include <new>

#include "base/clock.h"
#include "base/environment.h"
#include "base/file.h"
#include "base/text.h"
#include "collect/options.h"
#include "collect/own_session.h"
#include "kymo/error.h"
#include "ondemand/output_file.h"
#include "ondemand/own_file.h"

namespace kymo::ondemand {
namespace {

using HeapSwitch = void (*)(int);

HeapSwitch heap_switch() noexcept { return reinterpret_cast<HeapSwitch>(dlsym(RTLD_DEFAULT, "kymo_malloc_record")); }

// What KYMO_MALLOC says about the heap: "off", on, or nothing. If it is not set, the heap is recorded only in the
// program's own recordings.
enum class HeapByEnvironment : uint8_t { Unsaid, Off, On };
HeapByEnvironment heap_by_environment() noexcept {
  const char* said = base::environment("KYMO_MALLOC");
  if (said == nullptr || *said == '\0') return HeapByEnvironment::Unsaid;
  return strcasecmp(said, "off") == 0 ? HeapByEnvironment::Off : HeapByEnvironment::On;
}

void record_heap(bool asked_for) noexcept {
  const HeapSwitch record = heap_switch();
  if (record != nullptr) record(asked_for || heap_by_environment() == HeapByEnvironment::On ? 1 : 0);
}

void leave_heap() noexcept {
  const HeapSwitch record = heap_switch();
  if (record != nullptr) record(heap_by_environment() == HeapByEnvironment::Off ? 0 : 1);
}

}  // namespace

SessionOptions requested_session_options() {
  SessionOptions options = collect::options_from_environment();
  options.flight_bytes = 0;
  options.flight_seconds = 0;
  if (options.policy == Policy::Overwrite) options.policy = Policy::Block;
  return options;
}

Recorder& the_recorder() {
  static Recorder* const recorder = new Recorder;
  return *recorder;
}

// The owner is set as long as the session exists: a child that is forked meanwhile must know that it is not its own.
void Recorder::close(bool forget) {
  try {
    collect::close_session(forget ? collect::Ending::Forget : collect::Ending::Complete);
  } catch (...) {
    collect::drop_unfinished_session();
    owner_ = RecorderOwner::Nobody;
    leave_heap();
    throw;
  }
  owner_ = RecorderOwner::Nobody;
  leave_heap();
}

void Recorder::end_copy() {
  record_heap(false);
  over_flight_ = false;
  owner_ = RecorderOwner::Flight;
  path_ = flight_path_;
  collect::end_flight_copy();
}

void Recorder::begin(RecorderOwner owner, const std::string& path, const SessionOptions& options, bool with_heap) {
  const std::lock_guard lock(mutex_);
  if (owner_ == RecorderOwner::Flight && owner == RecorderOwner::Request) {
    collect::begin_flight_copy(path);
    owner_ = owner;
    path_ = path;
    over_flight_ = true;
    gave_way_ns_.reset();
    return record_heap(with_heap);
  }
  if (owner_ == RecorderOwner::Flight) {
    close(true);
    unlink(path_.c_str());
  }
  if (owner_ != RecorderOwner::Nobody) throw Error(base::format("a trace is already running, into {}", path_));
  if (collect::recorded_from_outside())
    throw Error("the program is already recorded by KYMO_TRACE or `kymo record`: that trace contains what you ask for");
  if (program_starts_ != 0)
    throw Error("the program is starting a recording of its own; ask again when that has ended");
  kymo_set_give_way(give_way);
  owner_ = owner;
  path_ = path;
  if (owner == RecorderOwner::Flight) flight_path_ = path;
  gave_way_ns_.reset();
  record_heap(with_heap);
  try {
    // The file exists, is empty and only ours, so no other file is overwritten.
    collect::start_session(path, options, collect::StartMode::Append, nullptr, collect::Tidy::No);
  } catch (...) {
    owner_ = RecorderOwner::Nobody;
    leave_heap();
    throw;
  }
}

void Recorder::state_window(RecorderOwner owner, const trace::Window& window, uint64_t late_ns) {
  const std::lock_guard lock(mutex_);
  if (owner_ == owner) collect::state_window(window, late_ns);
}

void Recorder::end(RecorderOwner owner) {
  const std::lock_guard lock(mutex_);
  if (owner_ != owner) return;
  if (over_flight_)
    end_copy();
  else
    close(false);
}

void Recorder::dump_flight(const std::string& path) {
  const std::lock_guard lock(mutex_);
  const bool own = owner_ == RecorderOwner::Flight || over_flight_;
  if (!own && !collect::recorded_from_outside())
    throw Error("the flight recorder has ended: the program has started a recording of its own");
  collect::dump_session(path);
}

void Recorder::forget_flight() {
  const std::lock_guard lock(mutex_);
  if (owner_ != RecorderOwner::Flight) return;
  try {
    close(true);
  } catch (const std::exception&) {  // its contents are not needed
  }
  unlink(path_.c_str());
}

RecorderOwner Recorder::owner() const {
  const std::lock_guard lock(mutex_);
  return owner_;
}

std::optional<uint64_t> Recorder::gave_way_ns() const {
  const std::lock_guard lock(mutex_);
  return gave_way_ns_;
}

void Recorder::give_way(int starting) {
  Recorder& recorder = the_recorder();
  {
    const std::lock_guard lock(recorder.mutex_);
    recorder.program_starts_ += starting != 0 ? 1 : -1;
    if (starting == 0 || recorder.owner_ == RecorderOwner::Nobody) return;
    recorder.gave_way_ns_ = base::monotonic_ns();
    if (recorder.over_flight_) {
      try {
        recorder.end_copy();
      } catch (const std::exception&) {  // its owner finds the data in the file
      }
    }
    const bool flight = recorder.owner_ == RecorderOwner::Flight;
    try {
      recorder.close(flight);
    } catch (const std::exception&) {  // its owner finds the data in the file
    }
    if (flight) unlink(recorder.path_.c_str());
  }
  wake_agent();
}

void Recorder::after_fork_in_child() noexcept {
  const bool had_one = owner_ != RecorderOwner::Nobody;
  new (&mutex_) std::mutex;
  owner_ = RecorderOwner::Nobody;
  over_flight_ = false;
  program_starts_ = 0;
  gave_way_ns_.reset();
  if (!had_one) return;
  try {
    collect::close_session();  // only separates it from the parent's session; nothing is written
  } catch (const std::exception&) {
  }
}

// ---- The flight recorder

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
