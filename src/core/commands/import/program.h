// The program that reads traces of other tools, for `kymo import` and for all commands that take a trace.
#pragma once

#include <optional>

#include "cli/command.h"
#include "cli/programs.h"

namespace kymo::cli {

int import_command(const Arguments&);  // from other tools' formats
int read_for_kymo(const Arguments&);   // FILE OUT NAME values|no-values: what cli::import_file() starts
int probe_for_kymo(const Arguments&);  // FILE: exits with 0 if it is a trace of another tool

// As import_file(), in this program: for set_importer().
std::optional<Imported> import_here(const ImportRequest& request);

inline constexpr Command kImportCommands[] = {
    {"import", Group::Convert, "convert traces of other tools"},
};
inline constexpr PartProgram kImportProgram = {.file = "kymo-import", .commands = kImportCommands};

}  // namespace kymo::cli
