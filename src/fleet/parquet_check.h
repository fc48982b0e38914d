// What is wrong in a folder of Parquet files: files that were removed, damaged or added, and their traces.
#pragma once

#include <string>
#include <vector>

namespace kymo::fleet {

// A line for people for each attempt that lost a file: the traces whose rows are incomplete, or that do not count
// because their mark is missing. A push that began in the last minutes may still run, and is not reported. The names of
// the files are enough to find them; only the traces of those that are reported are read. Throws kymo::Error.
std::vector<std::string> incomplete_traces(const std::string& folder);

// The files that kymo push did not write (foreign_files()) and what to do, for people; empty if there are none.
std::string foreign_file(const std::string& folder);

// The first file that cannot be read, with its traces and what to do, for people; empty if all can. Reads all of them.
std::string damaged_file(const std::string& folder);

}  // namespace kymo::fleet
