// KYMO_SIGNPOSTS and KYMO_PROFILE_LOG profile any program that links Kymo's device runtime, from its first operation
// on.
#include <stdio.h>
#include <stdlib.h>

#include <exception>

#include "base/environment.h"
#include "profiler/masks.h"
#include "profiler/profiler.h"

namespace kymo::profiler {
namespace {

__attribute__((constructor(103))) void profile_by_environment() {
  const char* signposts = base::environment("KYMO_SIGNPOSTS");
  const char* log = base::environment("KYMO_PROFILE_LOG");
  if (signposts == nullptr && log == nullptr) return;
  try {
    const uint32_t signpost_mask = parse_signposts(signposts != nullptr ? signposts : "");
    const uint32_t log_mask = parse_log(log != nullptr ? log : "");
    if (signpost_mask != 0) the_profiler().set_signposts(signpost_mask);
    if (log_mask != 0) the_profiler().set_log(log_mask);
  } catch (const std::exception& error) {
    // The user asked for it, and it is not possible: the program continues, and the error is printed.
    fprintf(stderr, "kymo: not profiling: %s\n", error.what());
  }
}

}  // namespace
}  // namespace kymo::profiler

// Makes sure that a program that links the runtime statically contains the code above; never called.
extern "C" void kymo_link_profiler(void) {}
