// SQL over traces, by DuckDB.
//
//   query::Session session({.files = {"run.kymo"}, .open = open_trace});
//   query::Result result = session.run("SELECT name, sum(duration_ns) FROM ranges GROUP BY name");
//   while (result.next()) …
//
// The tables are those of --schema (schema.h). `FROM ranges` reads all files of the session, `FROM ranges('x.kymo')`
// and `FROM 'x.kymo'` read one file, which is opened like the others. Rows come directly from the chunks of the trace;
// nothing is imported.
//
// SQL cannot read or write other files, and cannot load extensions: DuckDB's access to files is off, and its
// configuration is locked. Tables that SQL creates are in memory.
//
// One thread uses a session; only interrupt() may be called by others.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kymo/error.h"
#include "query/loaded_traces.h"
#include "query/result.h"

namespace kymo::query {

// Splits text into SQL statements.

// Statements are separated by semicolons; a semicolon in quotes ('…', "…", $$…$$) or in a comment does not count.
class StatementSplitter {
 public:
  // Adds text, and returns the statements that it completes, without the semicolons and without empty ones.
  std::vector<std::string> add(std::string_view text);

  // What is not complete yet, and nothing more is expected.
  std::string rest();
  bool is_empty() const;  // nothing but white space and comments so far

 private:
  std::string text_;
};

std::vector<std::string> split_statements(std::string_view text);

// DuckDB's message for a statement that cannot be run.
class QueryError : public Error {
 public:
  using Error::Error;
  bool interrupted() const { return std::string_view(what()).starts_with("INTERRUPT"); }
};

struct SessionOptions {
  std::vector<std::string> files;
  OpenTrace open;
  uint64_t memory_limit = 0;  // bytes; 0: half of the machine's memory
};

class Session {
 public:
  // Opens the files. Throws kymo::NotAvailable without DuckDB, and what `open` throws. DuckDB's threads start with the
  // first statement.
  explicit Session(SessionOptions options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Runs one statement. Throws QueryError. A result must not outlive the session, and must end before the next call.
  Result run(const std::string& statement);

  // Ends the running statement, which then throws QueryError. Any thread may call it.
  void interrupt() noexcept;

  // The traces that were read so far.
  std::vector<std::shared_ptr<LoadedTraces>> traces() const;

  // Writes a table of the session's files as a Parquet file, compressed with zstd. The file appears under its name when
  // it is complete. Throws kymo::InvalidArgument if there is no such table.
  void write_parquet(const std::string& table, const std::string& path);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kymo::query
