// The program of `kymo view`: the web server and what it links.
#pragma once

#include "cli/command.h"

namespace kymo::cli {

int view_command(const Arguments&);  // the tracks in a browser

inline constexpr Command kViewCommands[] = {
    {"view", Group::Read, "show traces as a timeline in a browser"},
};
inline constexpr PartProgram kViewProgram = {.file = "kymo-view", .commands = kViewCommands};

}  // namespace kymo::cli
