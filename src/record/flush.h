// Callbacks that a session calls before it ends, while it still records: work of devices that has completed, and that
// nobody has asked for its times yet, gets in. They belong to the process, whichever copy of the library was called.
#pragma once

#include "record/process.h"

namespace kymo::record {

// Calls them all on this thread, one after the other. Returns at once where one of them is what calls this.
void run_flush(Process&) noexcept;

// A forked child has none: the devices are its parent's.
void forget_flush(Process&) noexcept;
void init_flush(Process&) noexcept;

}  // namespace kymo::record
