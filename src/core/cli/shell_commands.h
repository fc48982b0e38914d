// The commands for shells and manual pages, made from the options of all commands.
#pragma once

#include "cli/command.h"

namespace kymo::cli {

int completion(const Arguments&);  // completion scripts for shells
int manual(const Arguments&);      // manual pages

}  // namespace kymo::cli
