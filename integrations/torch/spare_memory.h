// Memory for objects of one small size that are created and destroyed with operations, innermost first. There are as
// many at a time as open operations. A thread keeps a few pieces, so that it does not need malloc again.
#pragma once

#include <cstddef>

namespace kymo::edge {

// `size` is the same for all. Throws std::bad_alloc.
void* take_spare(size_t size);
// On any thread.
void keep_spare(void* memory, size_t size) noexcept;

}  // namespace kymo::edge
