// Kernels: how they take their arguments.
//
//   layout(push_constant, scalar) uniform scale_arguments {
//     uint64_t x;          // Passing::Address
//     uint factor_in[4];   // Passing::Inline: its address, or 0 and then the value
//     uint kymo_grid[6];   // where it asks for the grid
//   } arguments;
//   layout(constant_id = 3) const uint tile_count = 1;   // Passing::Group: so many elements, one constant for each
//   shared float tile_memory[tile_count];
//   void scale() { … }
#pragma once

#include "shader/emit/glsl_memory.h"
#include "shader/emit/glsl_resolve.h"
#include "shader/emit/glsl_unit.h"
#include "shader/shader.h"

namespace kymo::shader::glsl {

// Every device has room for these.
inline constexpr uint32_t kPushBytes = 128;

// Chooses what is passed by address because there is no room for it. Throws Rejected where even that does not help.
void fit_push_constants(Kernel& kernel, const Location& at);

// Adds the kernel to the text; `kernel` is as fit_push_constants() left it.
void write_kernel(Unit& unit, Memory& memory, Instance& instance, const Kernel& kernel);

}  // namespace kymo::shader::glsl
