// Reads PTX, the assembly that NVRTC makes of CUDA C++, and makes its kernels safe to launch with partial groups.
//
// CUDA launches whole groups. A launch of 1000 threads in groups of 256 runs 1024, and a kernel that does not compare
// its index with a bound writes past its data. So every kernel gets one more parameter, the edge, and a prologue in
// which the threads of an edge group that lie beyond the launch exit before anything else happens:
//
//   whole launch     no group is partial: one compare, one branch
//   inner group      not the last in a dimension that has a partial group: three compares more
//   edge group       a thread leaves that is beyond the last one's threads, in a dimension where the group is the last
//
// Threads that have left do not hold up __syncthreads(), __syncwarp() or cluster barriers (sm_70 and later). Counting
// groups instead of threads keeps everything in 32 bits whatever the size of the grid. The lines of the text keep their
// numbers, so that the assembler's messages are about the text that was given.
//
// Where the PTX is new enough for it every kernel gets a second parameter, and code where it leaves, by which it tells
// when it ran (ptx_stamps.h).
//
// Pure text, no driver. What is read may come from a user: malformed text throws kymo::Error with its line, and never
// anything else.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kymo::device::cuda {

struct PtxParameter {
  std::string type;      // "u32", "f64", "b8", … without the dot
  uint32_t bytes = 0;    // as a whole
  bool array = false;    // a structure, a vector or a half: .b8 name[n]
  bool pointer = false;  // marked .ptr, which not every version of NVRTC does
};

struct PtxEntry {
  std::string name;
  std::vector<PtxParameter> parameters;  // without what is added
  std::array<uint32_t, 3> required_group{0, 0, 0};
  bool dynamic_shared = false;  // it, or a function it calls, uses an `extern __shared__` array
};

struct PtxProgram {
  std::string text;  // with edges and prologues
  std::vector<PtxEntry> entries;
  bool stamps = false;          // its kernels take a Stamp behind the edge
  bool marks_pointers = false;  // some parameter has .ptr: then what has not is no pointer
};

// True of text whose first directive is .version: PTX rather than CUDA C++.
bool looks_like_ptx(std::string_view text);

PtxProgram prepare_ptx(std::string_view text);

// The parameter that is added to every kernel, as the prologue reads it.
struct Edge {
  uint32_t partial = 0;                         // 0: no group is
  std::array<uint32_t, 3> last{~0u, ~0u, ~0u};  // the partial group's index in each dimension; ~0: none is
  std::array<uint32_t, 3> threads{0, 0, 0};     // in that group
};
static_assert(sizeof(Edge) == 28);

// Of a launch of `threads` in groups of `group`, none of them 0.
Edge edge_of(const std::array<uint64_t, 3>& threads, const std::array<uint64_t, 3>& group);

}  // namespace kymo::device::cuda
