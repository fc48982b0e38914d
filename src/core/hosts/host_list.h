// Lists of hosts as people and schedulers write them: "node[001-128,200],login", a file with one per line, or the hosts
// of a Slurm job.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace kymo::hosts {

inline constexpr size_t kMaxHosts = 100'000;

// The hosts in the order given, each once. A number keeps its leading zeros. A host may be "user@host". Throws
// kymo::InvalidArgument if the text is not a list of hosts: also for a name that ssh would take for an option.
std::vector<std::string> expand(std::string_view list);

// The same for the text of a file: one list per line; what follows # is a comment.
std::vector<std::string> expand_lines(std::string_view text);

// The hosts on which a Slurm job runs, from its squeue. Throws kymo::Error with the reason.
std::vector<std::string> hosts_of_slurm_job(const std::string& job);

}  // namespace kymo::hosts
