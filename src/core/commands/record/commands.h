// The commands that record programs.
#pragma once

#include "cli/command.h"

namespace kymo::cli {

int record(const Arguments&);       // runs a program and records it
int env_command(const Arguments&);  // the environment that loads Kymo into later programs
int recover(const Arguments&);      // adds what dead processes left to their trace

}  // namespace kymo::cli
