// What the kernel says about a process, in /proc. All of it as this daemon sees it: its pid namespace, its users.
//
// A process may end at any moment, and its pid may then be another's: `started` tells them apart.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kymo::daemon {

inline constexpr size_t kMostParents = 32;
inline constexpr uint64_t kNsPerMs = 1'000'000, kNsPerSecond = 1'000'000'000;

struct ProcessFacts {
  int32_t pid = 0;
  int32_t inner_pid = 0;           // in its own namespace
  std::vector<int32_t> parents;    // its parent first; without 1 and beyond
  uint64_t started = 0;            // in the kernel's ticks since boot
  uint64_t started_at_ns = 0;      // CLOCK_REALTIME
  uint32_t uid = 0;                // effective
  bool is_of_one_user = true;      // its real, saved and file system's are the same
  std::string name;                // as the kernel has it: 15 characters
  std::string command_line;        // words with blanks between them, cut where it is long; may be empty
  uint64_t pid_namespace = 0;      // 0: not told
  uint64_t network_namespace = 0;  // these three need the same user or root
  uint64_t mount_namespace = 0;
};

// Nothing: there is no such process (any more).
std::optional<ProcessFacts> read_process(pid_t pid);

// All its numbers are this user's: a program that borrows another user's rights counts as nobody's.
bool runs_as(pid_t pid, uint32_t uid);

// The same one as then. A process that has ended and is not yet forgotten by its parent does not count.
bool is_alive(pid_t pid, uint64_t started);

// The value of a variable in the environment that it was started with; `is_known` is false where that may not be read.
struct StartVariable {
  bool is_known = false;
  std::optional<std::string> value;
};
StartVariable start_variable(pid_t pid, const std::string& name);

// "maps" has a file whose name begins so; nothing where that may not be read.
std::optional<bool> has_library(pid_t pid, const std::string& begins_with);

uint64_t namespace_of(pid_t pid, const char* kind);  // "pid", "net", "mnt", "user"; 0: not told

std::string boot_id();
std::string host_name();
std::string user_name(uint32_t uid);  // "alice", or "user 1000"

}  // namespace kymo::daemon
