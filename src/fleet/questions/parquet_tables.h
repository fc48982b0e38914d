// The tables of a folder of Parquet files: how DuckDB reads and writes them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "push/clickhouse.h"
#include "push/tables.h"
#include "query/engine.h"

namespace kymo::fleet {

// As DuckDB writes it: "UBIGINT", "TIMESTAMP", "VARCHAR".
std::string_view duckdb_type(push::ColumnType type);

// Writes the rows of a block, and replaces the file. Throws kymo::Error.
void write_parquet(query::Engine& engine, const push::Block& block, uint64_t attempt, const std::string& path);

// The rows of any statement, with the bytes of names. Throws query::QueryError.
push::Rows rows_of(const query::Engine& engine, const std::string& statement);

// A table, for statements: read_parquet() of all its files.
std::string parquet_table(const std::string& folder, const push::TableSpec& table);

// Files as a list of SQL: ['a', 'b'].
std::string file_list(const std::vector<std::string>& files);

// DuckDB's errors have several lines; the others repeat the statement.
std::string first_line(std::string_view text);

// Reads the tables of a folder, also if some of its files cannot be read.
//
// A statement that fails is run again without the files that cannot be read, because one of them must not hide all
// others. What they had is missing in the answer: parquet_check.h says it to people. Finding them costs nothing as long
// as all can be read. If only values are damaged, and not the footer, all files are read to find them.
//
// One thread uses a reader.
class ParquetReader {
 public:
  explicit ParquetReader(std::string folder) : folder_(std::move(folder)) {}

  const std::string& folder() const { return folder_; }
  // Made when it is needed. Throws kymo::NotAvailable without DuckDB.
  query::Engine& engine();

  // The rows of a statement with tables of parquet_table(). Throws kymo::Error if the reason is not in the files.
  push::Rows ask(const std::string& statement);

  // Looks for files that cannot be read, and are not known as such. False if there are none.
  bool find_unreadable();
  // Those that were found, by path, with the reason for people: "FILE is damaged".
  const std::map<std::string, std::string>& unreadable() const { return unreadable_; }
  bool is_unreadable(const std::string& file) const { return unreadable_.contains(file); }
  // Looks at the footer of this file.
  bool has_footer(const std::string& file);
  // It is damaged, although DuckDB can read it.
  void leave_out(const std::string& file);
  // It was written again, or removed.
  void forget(const std::string& file) { unreadable_.erase(file); }

  // The files of a table that can be read, as an argument for DuckDB's functions; empty if there are none.
  std::string files_of(const push::TableSpec& table) const;

 private:
  using Files = std::vector<std::string>;
  std::string with_readable_files(std::string statement) const;
  template <typename Statement>
  bool find_in(const Files& files, const Statement& statement);

  std::string folder_;
  std::optional<query::Engine> engine_;
  std::map<std::string, std::string> unreadable_;
};

}  // namespace kymo::fleet
