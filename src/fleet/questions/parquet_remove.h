// Removes one trace from a folder of Parquet files.
//
// A file has the rows of up to 64 traces and is never changed. So the other traces of the attempt are written again, as
// the attempt with the next number, and then the files of the old one are deleted, its mark first. Whenever this is
// interrupted, each of the other traces counts once, and the same call continues. What cannot be read, or is missing,
// is missing in the copy too, and leaves a gap in the numbers of its files: so it is still noticed.
#pragma once

#include <cstdint>
#include <string>

#include "questions/parquet_reader.h"

namespace kymo::fleet {

// False if the folder has no mark of it that can be read. Throws kymo::Error: then no other trace lost anything.
bool remove_trace(ParquetReader& reader, uint64_t trace);

}  // namespace kymo::fleet
