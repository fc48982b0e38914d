// Who this process is, as it tells a daemon: for people to read, and to be matched by.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wire/session_messages.h"

namespace kymo::ondemand {

// Asked for anew after a fork. Reads /proc; never throws for what is not there.
wire::Hello describe_process();

std::string own_boot_id();
std::string program_name();
std::string host_name();
// The scheduler's number: SLURM_JOB_ID; 0: none, or it is no number.
int64_t scheduler_job();
// This process first, then its parents, at most `most`; ends before process 1.
std::vector<int32_t> process_ancestry(size_t most);

}  // namespace kymo::ondemand
