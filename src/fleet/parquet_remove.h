// Removes one trace from a folder of Parquet files.
//
// A file has the rows of up to 64 traces and is never changed. So the other traces of the attempt are written again, as
// the attempt with the next number, and then the files of the old one are deleted, its mark first. Whenever this is
// interrupted, each of the other traces counts once, and the same call continues.
#pragma once

#include <cstdint>
#include <string>

#include "query/engine.h"

namespace kymo::fleet {

// False if the folder has no mark of it. Throws kymo::Error, and query::QueryError if a file cannot be read: then
// nothing is deleted.
bool remove_trace(query::Engine& engine, const std::string& folder, uint64_t trace);

}  // namespace kymo::fleet
