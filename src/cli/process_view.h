// What can be seen of a process from outside, for `kymo doctor`: more than daemon/proc.h provides.
//
// All of it needs the user of the process or root. Without permission the result is "not known", not "no".
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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

}  // namespace kymo::cli
