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

inline constexpr std::string_view kAttemptColumn = "attempt";

struct TableSpec {
  std::string_view name;
  std::string_view order;  // the sorting key
  std::span<const ColumnSpec> columns;
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
//   block.number(id); block.text("gpu 0"); … block.end_row();
//   client.insert(block.table(), block.encode(attempt));
//
// Every table has a column `attempt`. Its value is the same in all rows and is known only when the block is sent, so it
// is given to encode() and not stored. Texts may have any bytes. One thread uses a block.
class Block {
 public:
  explicit Block(const TableSpec& table) : table_(table) {}

  // Values of the row that is being built, in the order of the columns; `attempt` is skipped.
  void number(uint64_t value);        // any integer column; signed values as two's complement
  void text(std::string_view value);  // Text or Name

  // Throws kymo::Error if a column has no value.
  void end_row();

  // The values of the rest of a row: numbers and texts.
  template <typename... Values>
  void finish_row(const Values&... values) {
    const auto add = [this](const auto& value) {
      if constexpr (std::is_integral_v<std::decay_t<decltype(value)>>)
        number(static_cast<uint64_t>(value));
      else
        text(value);
    };
    (add(values), ...);
    end_row();
  }

  const TableSpec& table() const { return table_; }
  size_t rows() const { return attempts_.size(); }
  size_t bytes() const { return csv_.size(); }  // about the size of encode()
  // Adds the rows of another block of this table, which has no row that is being built.
  void append(const Block& other);

  std::string encode(uint64_t attempt) const;

 private:
  void skip_attempt();
  void begin_value(bool is_text);

  TableSpec table_;
  std::string csv_;               // without the attempts
  std::vector<size_t> attempts_;  // where that of each row belongs
  size_t at_ = 0;                 // the column of the next value
};

}  // namespace kymo::push
