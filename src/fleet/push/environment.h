// The rank and job that the environment of recorded processes says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "push/process_list.h"
#include "trace/reader.h"

namespace kymo::push {

struct Environment {
  // Of each process of the list: its own, or that of its nearest ancestor.
  std::vector<std::optional<int32_t>> ranks;
  std::vector<std::string> jobs;  // empty: none; the only one of a recording is that of all its processes
  std::string not_a_rank;         // what a program has in place of a rank: KYMO_RANK=x
};

Environment read_environment(const std::vector<Process>& processes);

// The job of what the reader shows, if all of it is one trace. Empty: the environment says none.
std::string find_job(const trace::Reader& reader);

}  // namespace kymo::push
