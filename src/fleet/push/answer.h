// What a ClickHouse server answers: rows as TabSeparatedWithNames, or an exception. The bytes are untrusted.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kymo::push {

struct Rows {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;  // each has a cell for each column
};

// Throws kymo::Error if it is not such a text: a row with another number of cells, an unknown escape, no last line
// feed.
Rows parse_rows(std::string_view body);

// One cell. Throws kymo::Error with the column's name if it is something else.
uint64_t parse_u64(std::string_view cell, std::string_view column);
int64_t parse_i64(std::string_view cell, std::string_view column);
double parse_real(std::string_view cell, std::string_view column);
// "[1,2.5]": of ClickHouse or DuckDB.
std::vector<double> parse_reals(std::string_view cell, std::string_view column);

struct ServerException {
  int code = 0;
  std::string text;  // one line, printable, not too long
};
// "Code: 47, e.displayText() = DB::Exception: …" of old servers, "Code: 47. DB::Exception: …" of new ones. Nothing if
// it is not an exception.
std::optional<ServerException> parse_exception(std::string_view body);

}  // namespace kymo::push
