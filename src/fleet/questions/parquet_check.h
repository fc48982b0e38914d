// What is wrong in a folder of Parquet files: files that were removed, damaged or added, and their traces.
#pragma once

#include <string>
#include <vector>

#include "questions/parquet_reader.h"

namespace kymo::fleet {

// A line for people for each attempt that lost files or rows: the traces whose rows are incomplete; and one for the
// traces whose newest rows do not count because their attempt has no mark. A push that is in progress looks the same,
// so traces of which an older attempt counts are named only after ten minutes (push::unmarked_before()). Files that
// cannot be read are left to unreadable_lines(). Names and footers of files are read, and the traces of those that are
// reported. Throws kymo::Error, also for a file whose rows do not belong to its name (misplaced_files()) and that is
// not damaged: they may count twice.
std::vector<std::string> incomplete_traces(ParquetReader& reader);

// The files that the reader found unreadable, a line each with the traces and what to do, for people.
std::vector<std::string> unreadable_lines(ParquetReader& reader);

// The files that kymo push did not write (foreign_files()) and what to do, for people; empty if there are none, or if
// they cannot be read: then no row of them counts.
std::string foreign_file(ParquetReader& reader);

}  // namespace kymo::fleet
