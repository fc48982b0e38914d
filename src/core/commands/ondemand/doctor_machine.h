// What a newcomer needs on this machine: rights to sample, libraries, Python, DuckDB, other tools, devices.
#pragma once

#include "commands/ondemand/doctor_process.h"

namespace kymo::cli {

// Bad: recording does not work. Doubtful: something that `kymo` offers is missing, with the remedy.
Findings examine_machine();

}  // namespace kymo::cli
