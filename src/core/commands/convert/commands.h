// The commands that make another file of a trace.
#pragma once

#include "cli/command.h"

namespace kymo::cli {

int export_command(const Arguments&);  // to other tools' formats
int merge_command(const Arguments&);   // several ranks on one clock
int cut(const Arguments&);             // a part of a trace

}  // namespace kymo::cli
