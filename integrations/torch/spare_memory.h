// Memory for objects of one small size that come and go with operations, innermost first: as many at a time as
// operations are open. A thread keeps a few pieces for itself and asks malloc for no more after that.
#pragma once

#include <cstddef>

namespace kymo::edge {

// `size` is the same for all. Throws std::bad_alloc.
void* take_spare(size_t size);
// On any thread.
void keep_spare(void* memory, size_t size) noexcept;

}  // namespace kymo::edge
