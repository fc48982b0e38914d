// The rows of a statement, as text.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "query/duckdb.h"

namespace kymo::query {

// How a column is shown: numbers are aligned to the right, and are numbers in JSON.
enum class CellKind : uint8_t { Text, Number, Boolean, Json };

class Result {
 public:
  struct ColumnInfo {
    std::string name;
    CellKind kind = CellKind::Text;
  };

  // Takes over `result`. `kinds` are those of the columns; empty: as their types are.
  Result(const duckdb::Api& api, duckdb::Result result, const std::vector<CellKind>& kinds);
  ~Result();
  Result(Result&&) noexcept;

  const std::vector<ColumnInfo>& columns() const;  // empty: the statement has no rows, only an effect

  // Moves to the next row; false after the last one. Throws QueryError.
  bool next();

  // A cell of the row. Text is valid UTF-8, but may contain control characters.
  bool is_null(size_t column) const;
  void append(base::TextBuffer& out, size_t column) const;
  std::string text(size_t column) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

CellKind kind_of(duckdb::Type type);

// True if Result shows values of this type; others must be cast to VARCHAR by the statement.
bool is_shown(duckdb::Type type);

}  // namespace kymo::query
