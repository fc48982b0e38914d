// Which run of its job a trace is of: a job may run several times, also at the same time.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "trace/reader.h"

namespace kymo::push {

// Of the environment of a recorded program, a text that all ranks of a run have, and other runs have not: KYMO_RUN, or
// what the launchers set. `variable` returns the value of a variable, empty if there is none. Empty: not known.
//
// Variables that may differ between the ranks of a run are not a part of it: torchrun counts restarts on each node for
// itself, and mpirun starts the ranks of its own node outside of Slurm's step.
std::string run_name(const std::function<std::string(std::string_view)>& variable);

// The same, of a process.
std::string run_of(const trace::Origin& origin);

// The same, of what the reader shows: the processes of one rank.
std::string find_run(const trace::Reader& reader);

}  // namespace kymo::push
