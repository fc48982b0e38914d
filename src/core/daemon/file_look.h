// Checks a file whose path comes from another process. A file system that hangs (a dead server) blocks the caller. So
// this uses a separate thread, and the daemon continues without an answer.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>

namespace kymo::daemon {

// The status of the path itself; links are not followed. Nothing: it does not exist, or there was no answer within a
// second. While a few checks hang, no more are started. Call it from one thread.
std::optional<struct stat> look_at(const std::string& path);

}  // namespace kymo::daemon
