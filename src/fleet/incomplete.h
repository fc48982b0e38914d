// Whether the database can answer, and which traces of a selection are not complete in it.
#pragma once

#include <string>
#include <vector>

#include "fleet/statements.h"

namespace kymo::fleet {

// Throws kymo::Error if a newer version of Kymo made the tables, because they may mean something else, or if a server
// has no tables of Kymo, or lost one.
void refuse_newer_version(const Target& target);

// A line each, for people. In a folder: traces whose files were removed. On a server: traces of the selection whose
// rows of iterations are gone, or those of operations if the answer uses them. Throws kymo::Error.
std::vector<std::string> incomplete_traces(const Selection& selection, bool uses_operations);

// For stragglers_statement(): the same for traces that an older version of Kymo pushed, without the calls of their
// collectives. Throws kymo::Error, also if there is no table for the calls at all.
std::vector<std::string> traces_without_calls(const Selection& selection);

}  // namespace kymo::fleet
