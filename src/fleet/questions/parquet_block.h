// Rows of a table as a Parquet file.
#pragma once

#include <string>

#include "push/block.h"
#include "query/engine.h"

namespace kymo::fleet {

// As DuckDB writes it: "UBIGINT", "TIMESTAMP", "VARCHAR".
std::string_view duckdb_type(push::ColumnType type);

// Replaces the file. Throws kymo::Error.
void write_parquet(query::Engine& engine, const push::Block& block, uint64_t attempt, const std::string& path);

}  // namespace kymo::fleet
