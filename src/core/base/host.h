// This machine, as traces and the daemon name it.
#pragma once

#include <string>

namespace kymo::base {

// A random id of the kernel, new at each boot: times of CLOCK_MONOTONIC are comparable if it is the same. Empty if
// /proc cannot be read.
std::string boot_id();
std::string host_name();

}  // namespace kymo::base
