// The names of OpenMP's constructs in the trace: what the construct is, and where it is in the program.
#pragma once

#include "kymo/annotate.h"

namespace kymo::inject::openmp {

enum class Construct : uint8_t { Parallel, Loop, Sections, Single, Workshare, Distribute, Taskloop, Scope, Task };

// "omp loop in compute", or "omp loop at solver+0x1234" if the function's name is not exported. `code` is the return
// address that the runtime reports; null: only the construct. Lives as long as the process. Looked up without a lock
// after the first time.
Site& site_of(Construct construct, const void* code) noexcept;

}  // namespace kymo::inject::openmp
