// The program of the commands for many traces in a database.
#pragma once

#include "cli/command.h"

namespace kymo::cli {

int push_command(const Arguments&);   // into the tables of a database
int watch_command(const Arguments&);  // the same for a folder, as traces arrive
int fleet_command(const Arguments&);  // questions about many traces

inline constexpr Command kFleetCommands[] = {
    {"push", Group::Fleet, "write the figures of traces into the tables of a ClickHouse server"},
    {"watch", Group::Fleet, "push the traces of a folder as they arrive, and delete old ones"},
    {"fleet", Group::Fleet, "show what is slow in the traces of many ranks"},
};
inline constexpr PartProgram kFleetProgram = {.file = "kymo-fleet", .commands = kFleetCommands};

}  // namespace kymo::cli
