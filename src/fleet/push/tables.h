// The tables of many traces, in ClickHouse. docs/fleet-database.md describes them.
//
// Inserts are not atomic. So every row has its trace and the attempt that wrote it, and the row in `traces` is written
// last: a row counts only if `traces` has its trace and attempt, and there is no later attempt.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace kymo::push {

// The types of columns that the tables use.
enum class ColumnType : uint8_t { U8, U32, I32, U64, I64, Date, Text, Name };

struct ColumnSpec {
  std::string_view name;
  ColumnType type;
};

// The types as ClickHouse writes them, and DuckDB for the CSV of a Block, in which times are seconds since 1970.
struct TypeNames {
  std::string_view clickhouse, duckdb;
};
TypeNames names_of(ColumnType type);

struct TableSpec {
  std::string_view name;
  std::string_view order;               // the sorting key
  std::span<const ColumnSpec> columns;  // `attempt` is the first one
};

// Tables of other versions are not read and not written.
inline constexpr uint32_t kSchemaVersion = 8;

// The times of `started`, in seconds since 1970. A clock that began at 0 is before kFirstDate: such a trace does not
// say when it was recorded. Traces from kEndOfDates on, 2042-11-19, are not taken: importers have no later times, and
// the dates of ClickHouse end in 2106. Until then such a date is that of a wrong clock.
inline constexpr uint32_t kFirstDate = 365 * 86'400, kEndOfDates = 2'300'000'000;

extern const TableSpec kTraces, kIterations, kOperations, kWaits, kDeviceTime, kSchema;

// The `part` of `device_time` that is not in an iteration. The others sum to the iterations.
inline constexpr std::string_view kOutside = "outside of iterations";

// The `kind` of an operation that is the iteration itself.
inline constexpr std::string_view kIterationKind = "iteration";

// The column `numbered`: whether `iteration` is the place in the trace, or the number that the program gave. A program
// that begins again within a trace has several runs of a number, of which only the last one is comparable.
enum Numbered : uint8_t { kPlace, kNumber, kRepeatedLater };

std::span<const TableSpec* const> all_tables();

// CREATE TABLE IF NOT EXISTS `database`.`name` …
std::string create_statement(const std::string& database, const TableSpec& table);

// `name`, for SQL: any bytes.
std::string quoted_name(std::string_view name);
// 'text', for SQL: any bytes.
std::string quoted_text(std::string_view text);

// Rows of a table as CSV, which ClickHouse and DuckDB read: texts are in quotes, and a quote in one is doubled.
//
//   Block block(kDeviceTime);
//   block.add(trace, started, job, rank, "gpu 0", "compute", ns);
//   client.insert(block.table(), block.encode(attempt));
//
// The first column of every table is `attempt`. Its value is the same in all rows and is known only when the block is
// sent, so it is given to encode() and not stored. One thread uses a block.
class Block {
 public:
  explicit Block(const TableSpec& table) : table_(table) {}

  // A row: the value of each column after `attempt`, a number or a text of any bytes. Throws kymo::Error if these are
  // too few or too many.
  template <typename... Values>
  void add(const Values&... values) {
    begin_row(sizeof...(values));
    const ColumnSpec* column = table_.columns.data();
    const auto add_one = [&](const auto& value) {
      if constexpr (std::is_integral_v<std::decay_t<decltype(value)>>)
        add_number(*++column, static_cast<uint64_t>(value));
      else
        add_text(*++column, value);
    };
    (add_one(values), ...);
    csv_ += '\n';
  }

  const TableSpec& table() const { return table_; }
  size_t rows() const { return rows_.size(); }
  size_t bytes() const { return csv_.size(); }  // about the size of encode()
  // Adds the rows of another block of this table.
  void append(const Block& other);

  std::string encode(uint64_t attempt) const;

 private:
  void begin_row(size_t values);
  void add_number(const ColumnSpec& column, uint64_t value);  // signed values as two's complement
  void add_text(const ColumnSpec& column, std::string_view value);

  TableSpec table_;
  std::string csv_;           // without the attempts
  std::vector<size_t> rows_;  // where each begins
};

}  // namespace kymo::push
