// What can be seen of a process from outside, for `kymo doctor`: more than daemon/proc.h provides.
//
// All of it needs the user of the process or root. Without permission the result is "not known", not "no".
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace kymo::cli {

// Whether it has the agent's thread, by name. This is the only sign of the agent in a statically linked program.
std::optional<bool> has_agent_thread(pid_t pid);

// True if it is stopped by a signal or a debugger, so that it does not answer.
bool is_stopped(pid_t pid);

// Whether `path` is the same file for this process and for that one, which may have another root.
std::optional<bool> sees_same_file(pid_t pid, const std::string& path);

// Whether the name is taken in the abstract namespace of that process's network; `name` as /proc/net/unix shows it.
std::optional<bool> has_abstract_socket(pid_t pid, const std::string& name);

// Processes of this user, or for root all.
std::vector<pid_t> own_processes();

}  // namespace kymo::cli
