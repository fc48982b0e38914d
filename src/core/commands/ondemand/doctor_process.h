// Why a process cannot be traced, for `kymo doctor`: what can be seen of it from outside, and what follows from that.
//
// What is seen here goes beyond daemon/proc.h. All of it needs the user of the process or root. Without permission the
// result is "not known", not "no".
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "wire/message.h"

namespace kymo::cli {

// Whether it has the agent's thread, by name. This is the only sign of the agent in a statically linked program.
std::optional<bool> has_agent_thread(pid_t pid);

// Whether `path` is the same file for this process and for that one, which may have another root.
std::optional<bool> sees_same_file(pid_t pid, const std::string& path);

// Whether `its_path`, as that process sees it, is the file `path` of this process.
std::optional<bool> is_same_file(pid_t pid, const std::string& its_path, const std::string& path);

// The inode of the socket with this name in the abstract namespace of that process's network; 0: there is none. `name`
// as /proc/net/unix shows it.
std::optional<uint64_t> abstract_socket(pid_t pid, const std::string& name);

// Whether it has the socket of a libkineto that uses a daemon. This is the only sign of a libkineto that is linked
// statically.
bool has_kineto_socket(pid_t pid);

// A process that has this socket open, among those that this user may look into.
std::optional<pid_t> owner_of_socket(uint64_t inode);

// Processes of this user, or for root all.
std::vector<pid_t> own_processes();

// Finds out why a process is not connected to the daemon: checks all conditions from outside the process.
//
// Also works without a daemon: then it reports what would be wrong even with a daemon.

enum class Verdict : uint8_t { Good, Doubtful, Bad };

struct Finding {
  std::string name;  // "socket", "pid namespace"
  Verdict verdict = Verdict::Good;
  std::string text, remedy;
};
using Findings = std::vector<Finding>;

// A daemon that answers: the facts that a process needs to find it.
struct DaemonPlace {
  std::string socket;
  uid_t uid = 0;                   // the user of the daemon
  std::string dynolog = {};        // where it serves programs with libkineto; empty: it does not
  uint64_t network_namespace = 0;  // 0: not known
};

// In the order in which to fix them. The caller knows that the process is not connected to any of `daemons`.
Findings examine_process(pid_t pid, const std::vector<DaemonPlace>& daemons);

// What prevents a trace of a process that is connected: it is stopped, or something else records it.
Findings examine_connected(pid_t pid);

// Finds processes of this user that have an agent, or were started to have one, and are not in `connected`. Returns a
// finding that names them, or nothing. The same for processes with libkineto.
Findings examine_others(const std::vector<pid_t>& connected);

}  // namespace kymo::cli
