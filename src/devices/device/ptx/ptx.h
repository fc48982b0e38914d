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
// reports when it ran (Stamp). stamp_ptx() adds only these: OpenCL has no partial groups here (pieces.h).
//
// Pure text functions, no driver. The text may come from a user or a driver: malformed text throws kymo::Error with its
// line, and no other exception.
#pragma once

#include <array>
#include <cstddef>
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

// Kernels report when they ran: the kernel itself stores the device's timer. This needs no call to the driver, so a
// timed launch costs the same as a launch without timing.
//
//   start   thread 0 of group 0, which the device starts first, stores the time
//   end     every warp, when its threads exit, raises the end to the current time
//
// The end is raised by an atomic maximum without a result, so nothing waits for it. The warps of a large launch would
// compete for one word. So they share several words, by the number of their multiprocessor, and the host takes the
// latest.
//
// The timer is %globaltimer: nanoseconds, in steps of 32 on Hopper (up to a microsecond on other devices). The times do
// not include the time that the device needs to start a launch and to write back its caches.

// The parameter of every kernel that can stamp. It is the last one.
struct Stamp {
  uint64_t start = 0;  // address for the start; 0: none
  uint64_t ends = 0;   // address of the ends, kStampLine bytes apart; 0: none
  uint32_t mask = 0;   // the number of ends, a power of two, minus 1
  uint32_t unused = 0;
};
static_assert(sizeof(Stamp) == 24);
inline constexpr uint32_t kStampLine = 128;

// Text on one line, each in its own scope. `name` is the kernel's name; `number` distinguishes the exits of one kernel.
std::string stamp_parameter(std::string_view name);
std::string stamp_start(std::string_view name);
std::string stamp_end(std::string_view name, size_t number);

// The instructions need PTX 6.2 and sm_70.
bool can_stamp(uint32_t version_major, uint32_t version_minor, uint32_t architecture);

// A kernel that stores the device's timer, to find out how a driver's times relate to it.

inline constexpr const char* kTimerKernelName = "kymo_timer";

// Its parameter is the address, 8 bytes by value. One thread is enough.
inline constexpr const char kTimerKernel[] = R"(
.version 6.2
.target sm_70
.address_size 64
.visible .entry kymo_timer(.param .u64 to)
{
	.reg .b64 %rd<3>;
	ld.param.u64 %rd1, [to];
	mov.u64 %rd2, %globaltimer;
	st.global.u64 [%rd1], %rd2;
	ret;
}
)";

// The words of a PTX text, with their positions. Comments are left out; a string is one word.
struct PtxToken {
  std::string_view text;
  size_t offset = 0;  // of its first character
  size_t end() const { return offset + text.size(); }
};

// Never fails: a character that is not part of a word is a token of its own. A comment or string without an end reaches
// to the end of the text.
std::vector<PtxToken> split_ptx(std::string_view text);

}  // namespace kymo::device
