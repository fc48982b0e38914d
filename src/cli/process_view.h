// What can be seen of a process from outside, for `kymo doctor`: more than daemon/proc.h tells of everyone.
//
// All of it needs the process's user or root; what may not be read is "not known", which is another thing than "no".
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace kymo::cli {

// The agent's thread in it, by its name. A program that is linked statically shows the agent in no other way.
std::optional<bool> has_agent_thread(pid_t pid);

// It was stopped by a signal or is held by a debugger, and answers nobody.
bool is_stopped(pid_t pid);

// Whether `path` is the same file for this process and for that one, which may have another root.
std::optional<bool> sees_same_file(pid_t pid, const std::string& path);

// Whether the name is taken in the abstract namespace of that process's network; `name` as /proc/net/unix shows it.
std::optional<bool> has_abstract_socket(pid_t pid, const std::string& name);

// Processes of this user, or for root all.
std::vector<pid_t> own_processes();

}  // namespace kymo::cli
