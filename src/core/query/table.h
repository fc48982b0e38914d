// A table that SQL can read: its columns, and a scan that fills DuckDB's vectors with rows.
//
// DuckDB calls a scan from several threads. Each thread has its own cursor. Only the columns that a query uses are
// filled.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "query/duckdb.h"
#include "query/loaded_traces.h"

namespace kymo::query {

// The types from Names on are ENUMs with the texts of a dictionary of LoadedTraces, or of fixed texts.
enum class ColumnType : uint8_t {
  Boolean,
  UInt16,
  UInt32,
  UInt64,
  Int64,
  Double,
  Text,
  Name,
  Category,
  Process,
  Thread,
  Device,
  File,
  PointKind,
};

inline bool is_enum(ColumnType type) { return type >= ColumnType::Name; }

struct Column {
  std::string_view name;
  ColumnType type;
  std::string_view help;
};

// The texts of an ENUM.
const std::vector<std::string>& enum_texts(ColumnType type, const LoadedTraces& traces);

// The vectors of one call. A column that the query does not use has none, and writing to it has no effect.
class Output {
 public:
  Output(const duckdb::Api& api, std::span<const Column> columns) : api_(api), columns_(columns.size()) {}

  // `width`: bytes of an ENUM's numbers; 0 for other types.
  void attach(size_t column, duckdb::Vector vector, uint8_t width);

  size_t capacity() const { return api_.vector_size(); }
  bool wants(size_t column) const { return columns_[column].data != nullptr; }

  // The values of a column of this type, one for each row; null if it is not used.
  template <typename Value>
  Value* values(size_t column) const {
    return static_cast<Value*>(columns_[column].data);
  }
  void set_null(size_t column, size_t row);
  void set_text(size_t column, size_t row, std::string_view text);  // must be valid UTF-8
  // The number of a text in the dictionary of an ENUM column; Dictionary::kNull is NULL.
  void set_enum(size_t column, size_t row, uint32_t number);
  // number(i) for the rows from `row` on: fast, for many rows.
  template <typename Number>
  void set_enums(size_t column, size_t row, size_t count, Number&& number) {
    switch (columns_[column].width) {
      case 1:
        return fill<uint8_t>(column, row, count, number);
      case 2:
        return fill<uint16_t>(column, row, count, number);
      case 4:
        return fill<uint32_t>(column, row, count, number);
      default:
        return;  // not used
    }
  }

 private:
  struct Attached {
    duckdb::Vector vector = nullptr;
    void* data = nullptr;
    uint64_t* validity = nullptr;
    uint8_t width = 0;
  };

  template <typename Stored, typename Number>
  void fill(size_t column, size_t row, size_t count, Number&& number) {
    Stored* const to = static_cast<Stored*>(columns_[column].data) + row;
    bool has_null = false;
    for (size_t i = 0; i < count; ++i) {
      const uint32_t value = number(i);
      has_null |= value == Dictionary::kNull;
      to[i] = static_cast<Stored>(value);
    }
    if (!has_null) return;
    for (size_t i = 0; i < count; ++i) {
      if (number(i) != Dictionary::kNull) continue;
      to[i] = 0;
      set_null(column, row + i);
    }
  }

  const duckdb::Api& api_;
  std::vector<Attached> columns_;
};

class Cursor {
 public:
  virtual ~Cursor() = default;
  // Writes up to output.capacity() rows; 0: there are no more. Throws kymo::Error if the query cannot continue.
  virtual size_t next(Output& output) = 0;
};

class Scan {
 public:
  virtual ~Scan() = default;
  // One for each thread; may be called by several threads at once.
  virtual std::unique_ptr<Cursor> cursor() = 0;
};

struct Table {
  std::string_view name;
  std::string_view help;
  std::vector<Column> columns;
  // `wanted`: for each column, whether the query uses it.
  std::unique_ptr<Scan> (*scan)(const Table& table, LoadedTraces& traces, const std::vector<bool>& wanted);
  uint64_t (*estimate)(const LoadedTraces& traces);  // the number of rows, for the optimizer
  size_t max_threads;                                // 0: as many as there are processors
};

// All tables, in the order of the documentation.
const std::vector<Table>& all_tables();

// "ranges". Ended ranges are read chunk by chunk, by all threads at once. Ranges across threads and unfinished ranges
// come from one thread.
Table range_table();

// The tables of points in time: "events" has all of them; counters, allocations and flows have one kind, with its own
// columns.
std::vector<Table> point_tables();
// The texts of the column "kind", sorted.
const std::vector<std::string>& point_kinds();

// "states": what each sampled thread did over its life. One thread reads them.
Table state_table();

// threads, devices, processes, losses, names: one row for each of these. They come from the catalog of a trace, and are
// built whole.
std::vector<Table> small_tables();

// Where the tables find the traces of a path; the empty path means the files of the session. Throws kymo::Error.
class TraceSource {
 public:
  virtual ~TraceSource() = default;
  virtual LoadedTraces& traces(const std::string& path) = 0;
};

// Makes a Table a table function of DuckDB: ranges('run.kymo'). `table` and `source` must
// outlive the connection's database. Throws kymo::Error.
void register_table(const duckdb::Api& api, duckdb::Connection connection, const Table& table, TraceSource& source);

}  // namespace kymo::query
