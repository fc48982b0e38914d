// Finds a file of a folder of Parquet files (parquet_store.h) that has the columns of another table.
#pragma once

#include <string>

#include "push/tables.h"
#include "query/engine.h"

namespace kymo::fleet {

// "FILE is not a file of iterations: it has no column wall_ns", for people. Empty if the file has the columns of its
// table, or cannot be read.
std::string of_other_table(const query::Engine& engine, const push::TableSpec& table, const std::string& file);

}  // namespace kymo::fleet
