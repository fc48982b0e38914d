// The loaded files that are described in the recording. The first stack that goes through a file describes it.
#pragma once

#include <cstdint>

namespace kymo::heap {

// Records the file that contains this code address, if that was not done yet: an instant "module" with its path, base,
// size and build id. Any thread may call it; takes no lock.
void state_code_of(uintptr_t address) noexcept;

// Call it for a new recording, or when a file was unloaded: each file is then recorded again when it is used.
void forget_stated_code() noexcept;

}  // namespace kymo::heap
