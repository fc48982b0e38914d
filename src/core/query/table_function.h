// Makes a Table a table function of DuckDB: ranges('run.kymo').
#pragma once

#include "query/engine.h"

namespace kymo::query {

// `table` and `source` must outlive the connection's database. Throws kymo::Error.
void register_table(const duckdb::Api& api, duckdb::Connection connection, const Table& table, TraceSource& source);

}  // namespace kymo::query
