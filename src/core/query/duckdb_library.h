// Finds and loads DuckDB's library.
#pragma once

#include <string>

#include "query/duckdb_api.h"

namespace kymo::query {

// Loads libduckdb.so on the first call, which takes about 20 ms; it stays loaded. The first of these files that exists:
//
//   KYMO_DUCKDB_LIBRARY                          if this variable is set, no other file is tried
//   libduckdb.so                                 beside the program, or in the lib folder of its tree
//   ~/.cache/kymo/duckdb-VERSION/libduckdb.so    installed by scripts/install-deps; $XDG_CACHE_HOME replaces ~/.cache
//   libduckdb.so                                 where the system looks for libraries
//
// A program with more rights than its user ignores the variables. Throws kymo::NotAvailable if there is no library, or
// if it cannot be used, with the remedy. Any thread may call it.
const duckdb::Api& duckdb_api();

// Why duckdb_api() throws; empty if it does not. For tests that are then skipped.
std::string duckdb_problem();

}  // namespace kymo::query
