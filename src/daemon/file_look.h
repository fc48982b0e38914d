// A look at a file whose path others chose. A file system that does not answer (a dead server, say) holds up whoever
// asks it; here that is a thread of its own, and the daemon goes on without an answer.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>

namespace kymo::daemon {

// Of what is there itself, not of what a link points to. Nothing: it is not there, or a second was not enough to tell.
// While a few such looks hang, no more are begun. Call it from one thread.
std::optional<struct stat> look_at(const std::string& path);

}  // namespace kymo::daemon
