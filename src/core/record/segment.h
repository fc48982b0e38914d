// Creates, finds and maps segments: files in a per-user folder of shared memory, one per recording process.
//
// A segment has mode 0600, in a folder with mode 0700 that must belong to the user. Its owner holds a lock on it while
// it lives. A segment without a lock is from a dead process, and the next collector recovers its records. The fixed
// part is allocated at creation, so that a full shared memory fails then and not at a later store. The part of a thread
// is allocated when the thread first records, and space for more than a few hundred names when they are registered.
#pragma once

#include <cstddef>
#include <cstdint>

#include "record/layout.h"

namespace kymo::record {

// Whether a step succeeded, and if not, one line that says why.
//
// For code that may not throw or allocate, because it runs inside malloc and in signal handlers. The text is a part of
// the value; a longer one is cut off. Costs one store if the step succeeded.
//
//   if (const Outcome made = ensure_segment(shared); !made) send_refusal(session, made.why());
class [[nodiscard]] Outcome {
 public:
  Outcome() noexcept { text_[0] = '\0'; }  // success
  // The text is as printf() would write it, and not empty.
  [[gnu::format(printf, 1, 2)]] static Outcome failure(const char* format, ...) noexcept;

  explicit operator bool() const noexcept { return text_[0] == '\0'; }
  const char* why() const noexcept { return text_; }  // empty: it succeeded

  // For several attempts that all failed: appends the reason of another one.
  void add(const Outcome& other) noexcept;

 private:
  static constexpr size_t kTextBytes = 1024;
  char text_[kTextBytes];
};

// Identifies where the collector searches for segments: the folder of the users' folders, and its root folder. With it,
// a process knows if the collector can find it (chroot, containers). `mounts` and `network` are namespaces.
struct Home {
  uint64_t device = 0, inode = 0, root_device = 0, root_inode = 0, mounts = 0, network = 0;  // 0: not known
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

// A mapped segment. A plain value: the user decides when to unmap it.
struct Mapping {
  SegmentHeader* header = nullptr;
  uint64_t bytes = 0;
  int fd = -1;
  Geometry geometry = {};
  uint64_t device = 0, inode = 0;  // of the file: the program may close fd, and its number may be reused
};

// Fills `path` with the folder for segments, and creates it if needed. Tries only $KYMO_SHM_DIR if that is set,
// otherwise /dev/shm, $XDG_RUNTIME_DIR and /tmp. A failure says what is wrong with each.
Outcome segment_folder(char (&path)[kSegmentPathBytes]) noexcept;

// Creates this process's segment and takes its lock. Fails if memory is full, without a folder, ….
Outcome create_segment(const SegmentOptions&, Mapping&, char (&path)[kSegmentPathBytes]) noexcept;

// Maps another process's segment, and checks everything a reader relies on: sizes, offsets, version. False: not a
// segment. Private: changes of the reader are not visible to others.
enum class Sharing : uint8_t { Shared, Private };
bool map_segment(int fd, Mapping&, Sharing sharing = Sharing::Shared) noexcept;
void unmap_segment(Mapping&) noexcept;

// Allocates the memory of slot `index`, and maps it up to the end of the first block of its ring. Opens the file at
// `path` again if the program has closed it. False: shared memory is full.
bool allocate_slot(Mapping&, const char* path, uint32_t index) noexcept;

// Maps allocated memory in one call, instead of a page fault every 256 records.
void map_pages(void* begin, size_t bytes) noexcept;

// Identifies a process, even if its pid is reused later or if it calls exec: its start time, and the address of its
// stack. 0: no such process.
uint64_t process_identity(uint32_t pid) noexcept;

// The namespaces of this process, as their inodes. 0: no /proc.
uint64_t pid_namespace() noexcept;
uint64_t network_namespace() noexcept;
uint64_t mount_namespace() noexcept;

// The holder of a segment locks one of its bytes: its process the first one, a collector in another process the second
// one.
enum class Holder : uint8_t { Owner = 0, Collector = 1 };
bool lock_segment(int fd, Holder as) noexcept;  // false: someone else holds it

// True if the process that owns the segment still runs, by its lock or by its identity (a program may close all its
// files, which also releases the lock).
bool owner_is_alive(int fd, const SegmentHeader&) noexcept;

}  // namespace kymo::record
