// A DuckDB database in memory that can read the tables of traces: what a Session uses.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "query/duckdb.h"
#include "query/result.h"
#include "query/table.h"

namespace kymo::query {

enum class FileAccess : uint8_t { Off, On };  // On: only for statements of Kymo itself

class Engine {
 public:
  // Registers a table function for each table. `source` must outlive it.
  Engine(TraceSource& source, uint64_t memory_limit, FileAccess access);
  // Without tables of traces.
  Engine(uint64_t memory_limit, FileAccess access);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  const duckdb::Api& api() const { return api_; }
  duckdb::Connection connection() const { return connection_; }
  void interrupt() noexcept { api_.interrupt(connection_); }
  // Runs statements that return nothing. Throws QueryError.
  void execute(const std::string& sql);

 private:
  void open(uint64_t memory_limit, FileAccess access);
  void register_tables(TraceSource& source);

  const duckdb::Api& api_;
  duckdb::Database database_ = nullptr;
  duckdb::Connection connection_ = nullptr;
};

// Runs one statement. Values that are not numbers or text become text: lists become JSON. Throws QueryError.
Result run_statement(const Engine& engine, const std::string& sql);

// 'text', with quotes inside doubled.
std::string sql_literal(const std::string& text);
// "text", with quotes inside doubled: the name of a table or column.
std::string sql_identifier(const std::string& text);

}  // namespace kymo::query
