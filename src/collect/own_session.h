// The session of this process, from code or from the environment.
#pragma once

#include <string>

#include "collect/options.h"
#include "kymo/session.h"

namespace kymo::collect {

enum class StartMode { Create, Append };

// `joined`: the session of a parent process that writes the same file.
void start_session(const std::string& path, const SessionOptions& wanted, StartMode mode,
                   const SessionId* joined = nullptr);
void close_session();

// KYMO_TRACE's. Returns its id, for the processes this one starts.
SessionId start_session_by_environment(const std::string& path, const SessionOptions& options, const SessionId* joined);
// Has this process a session, whoever started it?
bool session_taken();
// By `kymo record` or KYMO_TRACE.
bool recorded_from_outside();

}  // namespace kymo::collect
