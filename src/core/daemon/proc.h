// What the kernel says about a process, in /proc, and about the peer of a socket. All of it as this daemon sees it, in
// the daemon's pid namespace and user namespace.
//
// A process may end at any time, and another process may then get its pid: `started` distinguishes them.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/result.h"

namespace kymo::daemon {

inline constexpr size_t kMaxParents = 32;
inline constexpr uint64_t kNsPerMs = 1'000'000, kNsPerSecond = 1'000'000'000;

struct ProcessFacts {
  int32_t pid = 0;
  int32_t inner_pid = 0;           // in its own namespace
  std::vector<int32_t> parents;    // its parent first; ends before process 1
  uint64_t started = 0;            // in the kernel's ticks since boot
  uint64_t started_at_ns = 0;      // CLOCK_REALTIME
  uint32_t uid = 0;                // effective
  bool is_of_one_user = true;      // its real, saved and file system user ids are the same
  std::string name;                // from the kernel: at most 15 characters
  std::string command_line;        // words separated by spaces, truncated if it is long; may be empty
  uint64_t pid_namespace = 0;      // 0: not known
  uint64_t network_namespace = 0;  // these three need the same user or root
  uint64_t mount_namespace = 0;
};

// Nothing: the process does not exist, or has ended.
std::optional<ProcessFacts> read_process(pid_t pid);

// True if all its user ids are this user's. A program with the rights of two users belongs to neither of them.
bool runs_as(pid_t pid, uint32_t uid);

// True if it is still the same process. A zombie (its parent has not waited for it yet) is not alive.
bool is_alive(pid_t pid, uint64_t started);

// True if it is stopped by a signal or a debugger, so that it does not answer.
bool is_stopped(pid_t pid);

// The value of a variable in the environment that it was started with; `is_known` is false if that cannot be read.
struct StartVariable {
  bool is_known = false;
  std::optional<std::string> value;
};
StartVariable start_variable(pid_t pid, const std::string& name);

// What a value of KYMO_DAEMON means for the agent.
enum class AgentSwitch : uint8_t {
  Off,      // not set, empty or 0: there is no agent
  Invalid,  // a path that is not absolute: it is ignored
  On,
};
AgentSwitch agent_switch(const std::optional<std::string>& kymo_daemon);

// Whether "maps" contains a file whose name starts with this; nothing if "maps" cannot be read.
std::optional<bool> has_library(pid_t pid, const std::string& begins_with);

uint64_t namespace_of(pid_t pid, const char* kind);  // "pid", "net", "mnt", "user"; 0: not known

std::string user_name(uint32_t uid);  // "alice", or "user 1000"

// ---- Who is at the other end of a socket: the credentials from the kernel, not what the peer claims

// The user who sends a request. Root may see everything; other users see only their own.
struct Asker {
  uint32_t uid = 0;
  bool may_see(uint32_t owner) const { return uid == 0 || uid == owner; }
};

// The process that connected. Refused if it cannot be determined.
base::Result<ucred> peer_of(int connection);

// Refused: a user who cannot be identified here, of another user namespace and without a user id in this one.
base::Check check_user(const ucred& credentials);

// Facts about the process with these credentials, which claims to have pid `claimed_pid` in its own namespace.
// Refused: a process that has ended, is not visible here, or is another one; a user without a user id here; a program
// with the rights of several users (set-user-ID), which one user could make write as the other. `pidfd` is the pidfd of
// the peer if the kernel provides one, or -1. It proves that the pid was not reused.
base::Result<ProcessFacts> verified_process(const ucred& credentials, int32_t claimed_pid, int pidfd = -1);

// A descriptor of the process that connected; empty if the kernel is older than 6.5.
base::FileDescriptor peer_process(int connection);

}  // namespace kymo::daemon
