// Which loops a compiler should unroll.
//
// A thread's array lies in registers only if every index into it is known when the kernel is compiled. Otherwise it
// lies in memory, which is several times slower. So a loop whose counter is an index into such an array should be
// unrolled, if the number of its rounds is known and small. Compilers stop earlier where several such loops are nested.
#pragma once

#include <string>

#include "shader/ir/ir.h"

namespace kymo::shader {

// `first` declares the counter of the loop.
bool should_unroll(const ir::Statement& first, const ir::Statement& loop);

// The line before a loop with this wish (preprocess/lexer.h): "#pragma unroll 4".
std::string unroll_pragma(uint16_t wish);

}  // namespace kymo::shader
