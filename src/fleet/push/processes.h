// The processes of a file, with their parents, and what their environment says: the rank, the job, and the run of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/reader.h"

namespace kymo::push {

// The samples of a process have a writer of their own: here it is a child of the one that the process has itself.
struct Process {
  const trace::WriterInfo* info = nullptr;
  std::string recording;       // a name for those that were recorded together, or imported from one file
  bool is_imported = false;    // then it does not say whose child it is
  bool is_sampled = false;     // its events are samples, which Kymo took from outside
  bool is_same_again = false;  // sampled, and its parent is the same process
  bool has_events = false;
  std::optional<size_t> parent{};  // its place in the list, which is before that of the child; nothing: not recorded
};

// In the order in which they began; those that are sampled are last, because they are noticed later. The reader must
// outlive the list, and show all processes.
std::vector<Process> list_processes(const trace::Reader& reader);

// A name for the processes that were recorded together, or imported from one file.
std::string recording_of(const trace::Origin& origin);

struct Environment {
  // Of each process of the list: its own, or that of its nearest ancestor.
  std::vector<std::optional<int32_t>> ranks;
  std::vector<std::string> jobs;  // empty: none; the only one of a recording is that of all its processes
  std::string not_a_rank;         // what a program has in place of a rank: KYMO_RANK=x
};

Environment read_environment(const std::vector<Process>& processes);

// The job of what the reader shows, if all of it is one trace. Empty: the environment says none.
std::string find_job(const trace::Reader& reader);

// Which run of its job a trace is of: a job may run several times, also at the same time. Of the environment of a
// recorded program, a text that all ranks of a run have, and other runs have not: KYMO_RUN, or what the launchers set.
// `variable` returns the value of a variable, empty if there is none. Empty: not known.
//
// Variables that may differ between the ranks of a run are not a part of it: torchrun counts restarts on each node for
// itself, and mpirun starts the ranks of its own node outside of Slurm's step.
std::string run_name(const std::function<std::string(std::string_view)>& variable);

// The same, of a process.
std::string run_of(const trace::Origin& origin);

// The same, of what the reader shows: the processes of one rank.
std::string find_run(const trace::Reader& reader);

}  // namespace kymo::push
