// Why does nothing match? What a daemon sees that has to be right: itself, and one process if one is named.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/credentials.h"
#include "daemon/program.h"
#include "wire/tool_messages.h"

namespace kymo::daemon {

struct DaemonFacts {
  std::string socket;
  std::string dynolog;               // where libkineto's programs are served; empty: they are not
  std::string dynolog_problem = {};  // why not yet, although they should be
};

// Of a process of somebody else only that it is somebody else's.
std::vector<wire::Finding> examine(const DaemonFacts& daemon, const Programs& programs, const Asker& asker,
                                   std::optional<int32_t> pid);

}  // namespace kymo::daemon
