// Finds a file of a folder of Parquet files (parquet_store.h) that has the columns of another table.
#pragma once

#include <string>

namespace kymo::fleet {

// "FILE is not a file of iterations: it has no column wall_ns; …", for people. Empty if all files have the columns of
// their tables, or cannot be read. Reads the columns of every file, so it is only for an error of DuckDB, which does
// not name the file.
std::string file_of_other_table(const std::string& folder);

}  // namespace kymo::fleet
