// Reads tables of an SQLite file that may be damaged or hostile.
//
//   SqliteFile file(path);
//   SqliteRows rows = file.rows("NVTX_EVENTS", {"start", "end", "text"});   // a column that is missing is always null
//   while (rows.next()) use(rows.number(0), rows.text(2));
//
// The file is opened for reading only, without its journal. Only plain tables and plain columns are read, so that no
// code of the file runs. What is read in all is limited by the size of the file: pages that refer to each other could
// make a small file look endless.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace kymo::import {

class SqliteFile;

class SqliteRows {
 public:
  SqliteRows(SqliteRows&&) noexcept;
  ~SqliteRows();

  // False at the end, and if the rest cannot be read.
  bool next();
  // Columns are in the order of the request.
  std::optional<int64_t> number(size_t column) const;
  std::optional<double> real(size_t column) const;
  std::string_view text(size_t column) const;  // valid until next()

 private:
  friend class SqliteFile;
  SqliteRows(SqliteFile& file, sqlite3_stmt* statement, std::vector<int> places)
      : file_(file), statement_(statement), places_(std::move(places)) {}
  int place_of(size_t column) const;

  SqliteFile& file_;
  sqlite3_stmt* statement_;  // null: there is no such table
  std::vector<int> places_;  // in the statement; -1: the table has no such column
};

class SqliteFile {
 public:
  // Throws kymo::Error with the reason if it cannot be opened.
  explicit SqliteFile(const std::string& path);
  // Reads `bytes` as if they were a file. They must stay valid.
  struct InMemory {
    std::string_view bytes;
  };
  explicit SqliteFile(InMemory memory);
  ~SqliteFile();
  SqliteFile(const SqliteFile&) = delete;
  SqliteFile& operator=(const SqliteFile&) = delete;

  const std::vector<std::string>& tables() const { return tables_; }
  bool has_table(std::string_view name) const;
  bool has_column(std::string_view table, std::string_view column);
  SqliteRows rows(std::string_view table, const std::vector<std::string_view>& columns);

  const std::string& damage() const { return damage_; }  // why not everything was read

  // Called from time to time with the bytes of the file that were read since the last call.
  void on_read(std::function<void(uint64_t bytes)> call) { on_read_ = std::move(call); }

  static bool has_magic(std::string_view head);

 private:
  friend class SqliteRows;
  void start();
  std::vector<std::string> columns_of(std::string_view table);
  sqlite3_stmt* prepare(const std::string& sql);
  bool may_read(uint64_t bytes);
  void report_pages();

  sqlite3* database_ = nullptr;
  uint64_t bytes_left_ = 0, rows_left_ = 0;
  std::vector<std::string> tables_;
  std::string damage_;
  std::function<void(uint64_t)> on_read_;
  uint64_t rows_ = 0, page_bytes_ = 0;
};

}  // namespace kymo::import
