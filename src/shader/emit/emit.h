// The last stage: a module's kernels, and the functions they call, as text in a target's language, with what a caller
// must know to launch them.
//
// Text is for people too: names are the source's, where the target allows; only those helpers of the prelude that are
// used are in it.
//
// A launch that its groups do not divide runs differently on each target, and a kernel must not notice. What a target's
// own functions say there (docs/device.md, src/device/TARGET/):
//
//   OpenCL  pieces with an offset: get_global_id, get_local_id, get_local_size are right; get_group_id, get_num_groups,
//           get_global_size are made right by compiling the text once more for such a launch, which takes long
//   CUDA    one launch of whole groups whose surplus threads exit at once: blockIdx, threadIdx, gridDim are right, and
//           blockDim is that of a full group. A kernel that uses simdgroups is launched in pieces too where its lanes
//           would not be in order
//   GLSL    pieces: gl_GlobalInvocationID, gl_LocalInvocationID, gl_WorkGroupID, gl_NumWorkGroups, gl_WorkGroupSize are
//           right; the threads of the grid and the size of a full group are not there at all
//
// A kernel that needs more says so (Kernel::takes_grid) and has one parameter more, the last, filled by the runtime:
//
//   struct { uint threads[3]; uint group[3]; uint offset[3]; } kymo_grid    by value, on OpenCL and CUDA
//   uint kymo_grid[6]                                                       GLSL: the last of the push constants
//
//   threads  GridSize                              group  FullGroupSize; GroupCount is threads / group, rounded up
//   offset   CUDA: of the piece, in threads: GridPosition is offset + blockIdx * blockDim + threadIdx, GroupIndex is
//            offset / group + blockIdx, GroupSize is min(group, threads - offset - blockIdx * blockDim)
//
// On CUDA every kernel that uses simdgroups, and every one that asks for its GroupSize or GridSize, takes it.
#pragma once

#include <string>
#include <vector>

#include "shader/ir/ir.h"
#include "shader/shader.h"

namespace kymo::shader {

struct Emitted {
  std::string text;
  std::vector<Kernel> kernels;
};

// Throw Rejected for what the target cannot do.
Emitted emit_opencl(const ir::Module& module);
Emitted emit_cuda(const ir::Module& module);
Emitted emit_glsl(const ir::Module& module);

}  // namespace kymo::shader
