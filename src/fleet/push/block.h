// Rows of a table as columns, in ClickHouse's format Native.
//
//   Block block(tables::kMemory);
//   block.u64(kTrace, id); block.text(kName, "heap"); … block.end_row();
//   client.insert("memory", block.encode(attempt));
//
// Every table has a column `attempt`. Its value is the same in all rows and is known only when the block is sent, so it
// is given to encode() and not stored. Texts may have any bytes. One thread uses a block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace kymo::push {

// The types of columns that the tables use.
enum class ColumnType : uint8_t { U8, U16, U32, I32, U64, I64, F64, Date, Text, Name };

struct ColumnSpec {
  std::string_view name;
  ColumnType type;
};

// As ClickHouse writes it: "UInt64", "LowCardinality(String)".
std::string_view clickhouse_type(ColumnType type);

// Bytes of a value in fixed(); of integers and reals.
size_t width_of(ColumnType type);

inline constexpr std::string_view kAttemptColumn = "attempt";

struct TableSpec {
  std::string_view name;
  std::string_view order;  // the sorting key
  std::span<const ColumnSpec> columns;
};

class Block {
 public:
  explicit Block(const TableSpec& table);

  // Values of the row that is being built, in the order of the columns; `attempt` is skipped.
  void number(uint64_t value);        // any integer column; signed values as two's complement
  void real(double value);            // F64
  void text(std::string_view value);  // Text or Name

  // For many rows with the same names: the key of a name in the column with this index, and a value by its key. A key
  // is valid until clear().
  uint32_t key(size_t column, std::string_view name);
  void by_key(uint32_t key);

  // Throws kymo::Error if a column has no value.
  void end_row();

  const TableSpec& table() const { return table_; }
  size_t rows() const { return rows_; }
  size_t bytes() const { return bytes_; }  // about the size of encode()
  void clear();
  // Adds the rows of another block of this table, which has no row that is being built.
  void append(const Block& other);

  std::string encode(uint64_t attempt) const;

  // For other formats. The values of an integer or real column, width_of() bytes each.
  std::string_view fixed(size_t column) const { return columns_[column].data; }
  // The texts of a Text column, one for each row; those of a Name column, by key. Valid until the next change.
  std::vector<std::string_view> texts(size_t column) const;
  const std::vector<uint32_t>& keys(size_t column) const { return columns_[column].keys; }

 private:
  struct Column {
    std::string data;  // fixed-width values, or texts with their lengths; the names of a Name column
    std::unordered_map<std::string, uint32_t> names;
    std::vector<uint32_t> keys;  // of a Name column, by row
  };
  Column& next(bool is_text);

  TableSpec table_;
  std::vector<Column> columns_;
  size_t at_ = 0;  // the column of the next value
  size_t rows_ = 0, bytes_ = 0;
};

}  // namespace kymo::push
