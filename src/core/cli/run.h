// The entry point of `kymo` and of the programs beside it: finds the command, runs it, and reports what it throws.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cli/command.h"
#include "options/manual.h"

namespace kymo::cli {

// The main function of a program beside `kymo`: its first argument is the command.
int run_program(int argc, char** argv, std::span<const Implementation> own);

// The main function of `kymo`. `listed` are the commands of the help that are in this program; `own` may have more.
int run_kymo(int argc, char** argv, std::span<const Command> listed, std::span<const Implementation> own,
             std::span<const PartProgram> others);

// All commands that the help lists, in its order: those of `kymo` and of the programs beside it. Only in `kymo`.
std::vector<Command> all_commands();
// The programs beside `kymo` that were built with it. Only in `kymo`.
std::span<const PartProgram> other_programs();

// The options of a command, wherever it is. Throws kymo::Error if its program is missing.
options::CommandManual manual_of_command(const std::string& name);

}  // namespace kymo::cli
