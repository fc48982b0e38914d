// Reads PTX, the assembly that NVRTC makes from CUDA C++ and NVIDIA's OpenCL from OpenCL C, and adds code to its
// kernels: for CUDA prepare_ptx(), for OpenCL stamp_ptx().
//
// prepare_ptx() makes the kernels safe to launch with partial groups. CUDA launches whole groups. A launch of 1000
// threads in groups of 256 runs 1024 threads, and a kernel that does not compare its index with a bound writes past its
// data. So every kernel gets one more parameter, the edge, and a prologue. In the prologue, the threads of an edge
// group that are outside of the launch exit before anything else happens:
//
//   whole launch     no group is partial: one compare, one branch
//   inner group      not the last in a dimension that has a partial group: three compares more
//   edge group       in a dimension where the group is the last, a thread beyond the group's threads exits
//
// Threads that have exited do not block __syncthreads(), __syncwarp() or cluster barriers (sm_70 and later). The
// prologue counts groups instead of threads, so everything fits 32 bits for any size of the grid. The lines of the text
// keep their numbers, so that the assembler's messages match the original text.
//
// If the PTX version is new enough, every kernel gets a second parameter, and code at its exits. With them the kernel
// reports when it ran (ptx_stamps.h). stamp_ptx() adds only these: OpenCL has no partial groups here (pieces.h).
//
// Pure text functions, no driver. The text may come from a user or a driver: malformed text throws kymo::Error with its
// line, and no other exception.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kymo::device {

struct PtxParameter {
  std::string type;      // "u32", "f64", "b8", … without the dot
  uint32_t bytes = 0;    // in total
  bool array = false;    // a structure, a vector or a half: .b8 name[n]
  bool pointer = false;  // marked .ptr; not every version of NVRTC writes it
};

struct PtxEntry {
  std::string name;
  std::vector<PtxParameter> parameters;  // without the added ones
  std::array<uint32_t, 3> required_group{0, 0, 0};
  bool dynamic_shared = false;  // the kernel, or a function that it calls, uses an `extern __shared__` array
};

struct PtxProgram {
  std::string text;  // with everything that was added
  std::vector<PtxEntry> entries;
  bool stamps = false;          // its kernels take a Stamp, as the last parameter
  bool marks_pointers = false;  // some parameter has .ptr: then parameters without it are not pointers
};

// True if the first directive of the text is .version: then it is PTX and not CUDA C++.
bool looks_like_ptx(std::string_view text);

PtxProgram prepare_ptx(std::string_view text);

// The section that lists the parameters for clGetKernelArgInfo is removed: it would no longer match them. If the
// version is too old for stamps, the kernels stay as they are.
PtxProgram stamp_ptx(std::string_view text);

// The parameter that prepare_ptx() adds to every kernel, as the prologue reads it.
struct Edge {
  uint32_t partial = 0;                         // 0: no group is partial
  std::array<uint32_t, 3> last{~0u, ~0u, ~0u};  // index of the partial group in each dimension; ~0: none
  std::array<uint32_t, 3> threads{0, 0, 0};     // in that group
};
static_assert(sizeof(Edge) == 28);

// For a launch of `threads` in groups of `group`, none of them 0.
Edge edge_of(const std::array<uint64_t, 3>& threads, const std::array<uint64_t, 3>& group);

}  // namespace kymo::device
