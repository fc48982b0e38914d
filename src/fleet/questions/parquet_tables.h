// The tables of a folder of Parquet files: how DuckDB reads and writes them.
#pragma once

#include <string>
#include <string_view>

#include "push/clickhouse.h"
#include "push/tables.h"
#include "query/engine.h"

namespace kymo::fleet {

// Writes rows as CSV (push::Block) into a file, and replaces it. Throws kymo::Error.
void write_parquet(query::Engine& engine, const push::TableSpec& table, const std::string& csv,
                   const std::string& path);

// A table, for statements: read_parquet() of all its files.
std::string parquet_table(const std::string& folder, const push::TableSpec& table);

// The rows of a statement with tables of parquet_table(), with the bytes of names. Throws kymo::Error.
push::Rows ask_parquet(const query::Engine& engine, const std::string& folder, const std::string& statement);

// Of the tables of a folder. Throws kymo::Error.
uint64_t parquet_version(const query::Engine& engine, const std::string& folder);

// DuckDB's errors have several lines; the others repeat the statement.
std::string first_line(std::string_view text);

}  // namespace kymo::fleet
