// The last stage: the kernels of a module, and the functions they call, as text in the language of a target, with the
// data that a caller needs to launch them.
//
// The text is also for people: it uses the names of the source if the target allows them, and contains only those
// helpers of the prelude that are used.
//
// If the threads of a launch are not a multiple of its groups, each target runs the launch differently, and a kernel
// must not notice it. In such a launch, the built-in functions of the targets return (docs/device.md,
// src/devices/device/TARGET/):
//
//   OpenCL  pieces with an offset: get_global_id, get_local_id, get_local_size are right; get_group_id, get_num_groups,
//           get_global_size are corrected by compiling the text once more for such a launch, which is slow
//   CUDA    one launch of whole groups, in which surplus threads exit at once: blockIdx, threadIdx, gridDim are right,
//           and blockDim is that of a full group. A kernel that uses simdgroups is launched in pieces too, if its lanes
//           would not be in order otherwise
//   GLSL    pieces: gl_GlobalInvocationID, gl_LocalInvocationID, gl_WorkGroupID, gl_NumWorkGroups, gl_WorkGroupSize are
//           right; the threads of the grid and the size of a full group are not available
//
// A kernel that needs more sets Kernel::takes_grid and has one more parameter, the last, which the runtime fills:
//
//   struct { uint threads[3]; uint group[3]; uint offset[3]; } kymo_grid    by value, on OpenCL and CUDA
//   uint kymo_grid[6]                                                       GLSL: the last of the push constants
//
//   threads  GridSize                              group  FullGroupSize; GroupCount is threads / group, rounded up
//   offset   CUDA: of the piece, in threads: GridPosition is offset + blockIdx * blockDim + threadIdx, GroupIndex is
//            offset / group + blockIdx, GroupSize is min(group, threads - offset - blockIdx * blockDim)
//
// On CUDA it is taken by every kernel that uses simdgroups, and by every kernel that reads its GroupSize or GridSize.
#pragma once

#include <string>
#include <vector>

#include "kymo/translate.h"
#include "shader/diagnostic.h"
#include "shader/ir/ir.h"

namespace kymo::shader {

struct Emitted {
  std::string text;
  std::vector<Kernel> kernels;
};

// Throw Rejected for what the target does not support.
Emitted emit_opencl(const ir::Module& module);
Emitted emit_cuda(const ir::Module& module, const SourceFiles* lines = nullptr);  // lines: with #line directives
Emitted emit_glsl(const ir::Module& module);

}  // namespace kymo::shader
