// Making, finding and mapping segments: files in a per-user folder of shared memory, one a recording process.
//
// A segment is 0600 in a 0700 folder that must be the user's own. Its owner holds a lock on it for as long as it lives;
// a segment without one is a dead process's, whose records the next collector brings home. The fixed part is allocated
// when it is made, so that a full shared memory fails then and not at some store later; a thread's part when the thread
// first records, and room for more names than a few hundred when they come.
#pragma once

#include <cstddef>
#include <cstdint>

#include "record/layout.h"

namespace kymo::record {

// Where the collector looks for segments, to tell a process that it can find from one that it cannot (chroot,
// containers): where the users' folders are, and its root folder.
struct Home {
  uint64_t device = 0, inode = 0, root_device = 0, root_inode = 0;  // all 0: not known
};
Home home_of(const char* folder) noexcept;  // of this process, with its segments in `folder`

struct SegmentOptions {
  uint8_t session[16] = {};
  RingPolicy policy = RingPolicy::Block;
  uint64_t ring_bytes = 1 << 20;
  uint64_t file_device = 0, file_inode = 0;  // of the trace; 0: not known
  char file_path[1024] = {};
  Home home;
};

inline constexpr uint64_t kMinRingBytes = 64 << 10;
inline constexpr uint64_t kMaxRingBytes = 64 << 20;
inline constexpr size_t kSegmentPathBytes = 320;

// A mapped segment. Plain: whoever holds it decides when to unmap.
struct Mapping {
  SegmentHeader* header = nullptr;
  uint64_t bytes = 0;
  int fd = -1;
  Geometry geometry = {};
  uint64_t device = 0, inode = 0;  // of the file: the program may close fd and give its number to a file of its own
};

// Fills `path` with the folder for segments, making it where it is not there yet. Tries $KYMO_SHM_DIR alone when it is
// set, otherwise /dev/shm, $XDG_RUNTIME_DIR and /tmp. False: `why` says what is wrong with each.
bool segment_folder(char (&path)[kSegmentPathBytes], char* why, size_t why_bytes) noexcept;

// Makes this process's segment and takes its lock. False: `why` says why not (memory full, no folder, …).
bool create_segment(const SegmentOptions&, Mapping&, char (&path)[kSegmentPathBytes], char* why,
                    size_t why_bytes) noexcept;

// Maps another process's segment, checking everything a reader will rely on: sizes, offsets, version. False: not one.
// Private: what the reader changes stays its own.
enum class Sharing : uint8_t { Shared, Private };
bool map_segment(int fd, Mapping&, Sharing sharing = Sharing::Shared) noexcept;
void unmap_segment(Mapping&) noexcept;

// Gives slot `index` its memory, opening the file at `path` again where the program has closed it. False: shared memory
// is full.
bool allocate_slot(Mapping&, const char* path, uint32_t index) noexcept;

// Tells a process from a later one with its pid, and from itself before exec: when it started, and where the kernel put
// its stack. 0: no such process.
uint64_t process_identity(uint32_t pid) noexcept;

// The PID namespace of this process, by its inode. 0: /proc is not there.
uint64_t pid_namespace() noexcept;

// Who holds a segment says so by a lock on one of its bytes: its process on the first, a collector elsewhere on the
// second.
enum class Holder : uint8_t { Owner = 0, Collector = 1 };
bool lock_segment(int fd, Holder as) noexcept;  // false: another holds it

// Does the process that owns the segment still run? Its lock says so, or its identity (a program may close every
// file it has, and the lock goes with it).
bool owner_is_alive(int fd, const SegmentHeader&) noexcept;

}  // namespace kymo::record
