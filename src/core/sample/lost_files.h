// The names of functions in files that readers of the trace will not find: the file was removed or replaced while the
// program ran, or it is at another path outside of a container. The sampler still has it open.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sample/address_space.h"

namespace kymo::sample {

// Of return addresses in a process, or what was one. Costs a look at each file, if all are there. Code that is in no
// file has the names that its compiler has written to /tmp/perf-PID.map, as node, Java and Python do on request.
std::vector<std::pair<uint64_t, std::string>> names_in_lost_files(AddressSpace& code, pid_t pid,
                                                                  const std::set<uint64_t>& addresses);

}  // namespace kymo::sample
