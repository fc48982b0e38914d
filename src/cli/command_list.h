// All commands of `kymo`, in the order of its help.
#pragma once

#include <span>

#include "cli/commands.h"

namespace kymo::cli {

struct Command {
  const char* name;
  const char* summary;
  int (*run)(const Arguments&);
};

std::span<const Command> all_commands();

}  // namespace kymo::cli
