// The loaded files that a recording has been told of: the first stack that leads through one states it.
#pragma once

#include <cstdint>

namespace kymo::heap {

// States the file that holds this code address where that was not done yet: an instant "module" with its path, where it
// lies, how much of it and its build id. From any thread, without a lock.
void state_code_of(uintptr_t address) noexcept;

// Another recording, or a file was unloaded: each is stated anew when it is met.
void forget_stated_code() noexcept;

}  // namespace kymo::heap
