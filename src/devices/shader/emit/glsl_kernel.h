// Kernels: how they take their arguments.
//
//   layout(push_constant, scalar) uniform scale_arguments {
//     uint64_t x;          // Passing::Address
//     uint factor_in[4];   // Passing::Inline: its address, or 0 and then the value
//     uint kymo_grid[6];   // if the kernel reads the grid
//   } arguments;
//   layout(constant_id = 3) const uint tile_count = 1;   // Passing::Group: number of elements, one constant for each
//   shared float tile_memory[tile_count];
//   void scale() { … }
//
// If the push constants have more than 128 bytes, which is the space that every device has, they are in memory, and the
// only push constant is their address:
//
//   layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer scale_arguments {
//     uint64_t x;
//     layout(offset = 16) uint64_t factor_in[4];   // aligned, so that the value can be read like any other
//     …
//   };
//   layout(push_constant, scalar) uniform scale_block { scale_arguments arguments; };
#pragma once

#include "kymo/translate.h"
#include "shader/emit/glsl_memory.h"
#include "shader/emit/glsl_resolve.h"
#include "shader/emit/glsl_unit.h"

namespace kymo::shader::glsl {

// Chooses the values that are passed by address because all arguments would take more than 64 KiB.
void fit_arguments(Kernel& kernel);

// Adds the kernel to the text; `kernel` is the result of fit_arguments().
void write_kernel(Unit& unit, Memory& memory, Instance& instance, const Kernel& kernel);

}  // namespace kymo::shader::glsl
