// The environment, as far as a program may believe it.
//
// Every variable that Kymo reads is read here. A program with more rights than whoever started it (setuid, setgid, file
// capabilities) sees none of them: they would say which library it loads and which file it writes.
#pragma once

#include <stdlib.h>

namespace kymo::base {

// Null: not set, or not to be believed.
inline const char* environment(const char* name) noexcept { return ::secure_getenv(name); }

}  // namespace kymo::base
