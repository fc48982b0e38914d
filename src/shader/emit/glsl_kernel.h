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
#pragma once

#include "kymo/translate.h"
#include "shader/emit/glsl_memory.h"
#include "shader/emit/glsl_resolve.h"
#include "shader/emit/glsl_unit.h"

namespace kymo::shader::glsl {

// Every device has space for these.
inline constexpr uint32_t kPushBytes = 128;

// Chooses which values are passed by address because there is not enough space. Throws Rejected if that is not enough.
void fit_push_constants(Kernel& kernel, const Location& at);

// Adds the kernel to the text; `kernel` is the result of fit_push_constants().
void write_kernel(Unit& unit, Memory& memory, Instance& instance, const Kernel& kernel);

}  // namespace kymo::shader::glsl
