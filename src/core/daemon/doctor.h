// Why does nothing match? The checks that a daemon can do: of itself, and of one process if given.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/proc.h"
#include "daemon/program.h"
#include "wire/message.h"

namespace kymo::daemon {

struct DaemonFacts {
  std::string socket;
  std::string dynolog;               // where programs with libkineto are served; empty: they are not
  std::string dynolog_problem = {};  // why they are not served yet, although they should be
};

// For a process of another user, reports only that it belongs to another user.
std::vector<wire::Finding> examine(const DaemonFacts& daemon, const Programs& programs, const Asker& asker,
                                   std::optional<int32_t> pid);

}  // namespace kymo::daemon
