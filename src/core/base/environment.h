// Environment variables, if they can be trusted.
//
// Kymo reads all its variables here. A program with more rights than the user who started it (setuid, setgid, file
// capabilities) sees none of them, because they would decide which library it loads and which file it writes.
#pragma once

#include <stdlib.h>

namespace kymo::base {

// Null if not set, or not trusted.
inline const char* environment(const char* name) noexcept { return ::secure_getenv(name); }

}  // namespace kymo::base
