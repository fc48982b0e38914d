// What is wrong in a folder of Parquet files: files that were removed, damaged or added, and their traces.
#pragma once

#include <string>
#include <vector>

namespace kymo::fleet {

// A line for people for each attempt that lost files or rows: the traces whose rows are incomplete; and one for the
// traces that do not count because no attempt of them has a mark. A push that is in progress looks the same. Names and
// footers of files are read, and the traces of those that are reported. Throws kymo::Error, also for a file whose rows
// do not belong to its name (misplaced_files()): they may count twice.
std::vector<std::string> incomplete_traces(const std::string& folder);

// The files that kymo push did not write (foreign_files()) and what to do, for people; empty if there are none.
std::string foreign_file(const std::string& folder);

// The first file that cannot be read, with its traces and what to do, for people; empty if all can. Reads all of them.
std::string damaged_file(const std::string& folder);

}  // namespace kymo::fleet
