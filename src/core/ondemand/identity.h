// The description of this process for a daemon: for people to read, and for selections.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wire/message.h"

namespace kymo::ondemand {

// Call it again after a fork. Reads /proc; does not throw if something is missing.
wire::Hello describe_process();

std::string program_name();
// The job number of the scheduler: SLURM_JOB_ID; 0: it is not set, or not a number.
int64_t scheduler_job();
// This process first, then its parents, at most `max`; ends before process 1.
std::vector<int32_t> process_ancestry(size_t max);

}  // namespace kymo::ondemand
