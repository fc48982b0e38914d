// The session of this process, from code or from the environment.
#pragma once

#include <cstdint>
#include <string>

#include "collect/options.h"
#include "kymo/session.h"
#include "trace/model.h"

namespace kymo::collect {

enum class StartMode { Create, Append };
// Whether to remove the data of dead processes first. This takes longer the more other processes there are.
enum class Tidy { Yes, No };

// `joined` is the session of a parent process that writes the same file.
KYMO_API void start_session(const std::string& path, const SessionOptions& wanted, StartMode mode,
                            const SessionId* joined = nullptr, Tidy tidy = Tidy::Yes);
// `Forget` discards the data of a flight recorder instead of writing it.
enum class Ending { Complete, Forget };
// False: the file is complete, but somebody moved, replaced or deleted it. Throws kymo::Error if it could not be
// written.
KYMO_API bool close_session(Ending ending = Ending::Complete);
// For a session whose file could not be completed: discards what is not in the file, so that the next session can start
// even if that file can never be written.
KYMO_API void drop_unfinished_session() noexcept;

// Installs the handlers for forks now, so that they run before handlers that are registered later.
KYMO_API void follow_forks();

// Dumps the flight recorder of this copy of the library. Throws kymo::Error if none runs.
KYMO_API void dump_session(const std::string& path);

// New data of that flight recorder also goes to `path`, an empty file, until end_flight_copy(). The recorder itself
// continues as before. Both throw kymo::Error if no recorder runs; end_flight_copy() also if the file could not be
// written.
KYMO_API void begin_flight_copy(const std::string& path);
KYMO_API void end_flight_copy();

// Soon says in the file, or in the copy of the flight recorder, which part of the recording counts
// (Collector::state_window). Does nothing if this copy of the library has no session.
KYMO_API void state_window(const trace::Window& window, uint64_t late_ns);

// When it returns, everything recorded until now is in the file. Throws kymo::Error if the file cannot be written. Does
// nothing if this copy of the library has no session.
KYMO_API void flush_session();

// True if this process has a session, from any source.
KYMO_API bool session_taken();
// True if `kymo record` or KYMO_TRACE records this process.
KYMO_API bool recorded_from_outside();

}  // namespace kymo::collect

// Sets a callback that is called with 1 before a Session of the program's own code starts. It must then close a session
// that it runs for someone else, and start none until it is called with 0. There is one callback for the whole process,
// for all copies of the library.
extern "C" KYMO_API void kymo_set_give_way(void (*give_way)(int starting));
