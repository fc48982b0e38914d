// Callbacks that a session calls before it ends, while it still records. They add device work that has completed but
// whose times were not queried yet. They belong to the process, for all copies of the library.
#pragma once

#include "record/process.h"

namespace kymo::record {

// Calls all of them on this thread, one after the other. Returns immediately if it is called from a callback.
void run_flush(Process&) noexcept;

// For a forked child, which has no callbacks: the devices belong to its parent.
void forget_flush(Process&) noexcept;
void init_flush(Process&) noexcept;

}  // namespace kymo::record
