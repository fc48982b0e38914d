// The session of this process, from code or from the environment.
#pragma once

#include <string>

#include "collect/options.h"
#include "kymo/session.h"

namespace kymo::collect {

enum class StartMode { Create, Append };
// Whether to remove first what dead processes left behind, which takes as long as there are other processes.
enum class Tidy { Yes, No };

// `joined`: the session of a parent process that writes the same file.
KYMO_API void start_session(const std::string& path, const SessionOptions& wanted, StartMode mode,
                            const SessionId* joined = nullptr, Tidy tidy = Tidy::Yes);
// `Forget`: what a flight recorder holds is not written to its file.
enum class Ending { Complete, Forget };
KYMO_API void close_session(Ending ending = Ending::Complete);
// Of a session whose file could not be completed: what the file does not hold is let go of, so that the next one can
// begin although that file never takes more.
KYMO_API void drop_unfinished_session() noexcept;

// What a forked child needs is done from now on, before the handlers that are registered later.
KYMO_API void follow_forks();

// What the flight recorder of this copy of the library holds. Throws kymo::Error where none runs.
KYMO_API void dump_session(const std::string& path);

// What that flight recorder gets from now on goes to `path` as well, an empty file, until the end is asked for; it goes
// on as before. Both throw kymo::Error where none runs, the end also where the file took no more.
KYMO_API void begin_flight_copy(const std::string& path);
KYMO_API void end_flight_copy();

// What has been recorded until now is in the file when it returns. Throws kymo::Error where the file took no more; does
// nothing where no session of this copy of the library runs.
KYMO_API void flush_session();

// KYMO_TRACE's. Returns its id, for the processes this one starts.
SessionId start_session_by_environment(const std::string& path, const SessionOptions& options, const SessionId* joined);
// Has this process a session, whoever started it?
KYMO_API bool session_taken();
// By `kymo record` or KYMO_TRACE.
KYMO_API bool recorded_from_outside();

}  // namespace kymo::collect

// Called before a Session of the program's own code begins, with 1: whoever has one on somebody else's behalf closes it
// and takes none until the call with 0. One for the whole process, whichever copy of the library asks.
extern "C" KYMO_API void kymo_set_give_way(void (*give_way)(int starting));
