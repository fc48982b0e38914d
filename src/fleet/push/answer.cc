#include "push/answer.h"

#include <charconv>

#include "base/printable.h"
#include "base/text.h"
#include "kymo/error.h"

namespace kymo::push {
namespace {

constexpr size_t kShownCharacters = 300;

// What the server said, for a message.
std::string excerpt(std::string_view text) {
  const bool is_cut = text.size() > kShownCharacters;
  return base::printable(std::string(text.substr(0, kShownCharacters))) + (is_cut ? "…" : "");
}

// `cell` has no tab and no line feed.
std::string unescaped(std::string_view cell) {
  if (cell.find('\\') == cell.npos) return std::string(cell);
  std::string out;
  for (size_t i = 0; i < cell.size(); ++i) {
    if (cell[i] != '\\') {
      out += cell[i];
      continue;
    }
    if (++i == cell.size()) throw Error("the server's answer ends in the middle of an escape");
    switch (cell[i]) {
      case 'b':
        out += '\b';
        break;
      case 'f':
        out += '\f';
        break;
      case 'n':
        out += '\n';
        break;
      case 'r':
        out += '\r';
        break;
      case 't':
        out += '\t';
        break;
      case '0':
        out += '\0';
        break;
      case 'N':  // NULL
        break;
      case '\\':
      case '\'':
        out += cell[i];
        break;
      default:
        throw Error(base::format("the server's answer has the unknown escape \\{}", excerpt(cell.substr(i, 1))));
    }
  }
  return out;
}

std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells;
  for (;;) {
    const size_t tab = std::min(line.find('\t'), line.size());
    cells.push_back(unescaped(line.substr(0, tab)));
    if (tab == line.size()) return cells;
    line.remove_prefix(tab + 1);
  }
}

template <typename Number>
Number parse(std::string_view cell, std::string_view column) {
  Number value{};
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (cell.empty() || error != std::errc() || end != cell.data() + cell.size())
    throw Error(
        base::format("the server's answer has '{}' in column {}, which is not a number", excerpt(cell), column));
  return value;
}

}  // namespace

Rows parse_rows(std::string_view body) {
  Rows all;
  if (body.empty()) throw Error("the server's answer is empty: is it a ClickHouse server?");
  while (!body.empty()) {
    const size_t end = body.find('\n');
    if (end == body.npos) throw Error(base::format("the server's answer has no end: '{}'", excerpt(body)));
    std::vector<std::string> cells = cells_of(body.substr(0, end));
    body.remove_prefix(end + 1);
    if (all.columns.empty()) {
      all.columns = std::move(cells);
      continue;
    }
    if (cells.size() != all.columns.size())
      throw Error(
          base::format("the server's answer has a row of {} cells under {} columns", cells.size(), all.columns.size()));
    all.rows.push_back(std::move(cells));
  }
  return all;
}

uint64_t parse_u64(std::string_view cell, std::string_view column) { return parse<uint64_t>(cell, column); }
int64_t parse_i64(std::string_view cell, std::string_view column) { return parse<int64_t>(cell, column); }
double parse_real(std::string_view cell, std::string_view column) { return parse<double>(cell, column); }

std::vector<double> parse_reals(std::string_view cell, std::string_view column) {
  if (cell.size() < 2 || cell.front() != '[' || cell.back() != ']')
    throw Error(base::format("the server's answer has '{}' in column {}, which is not a list", excerpt(cell), column));
  std::vector<double> all;
  cell = cell.substr(1, cell.size() - 2);
  while (!cell.empty()) {
    const size_t comma = std::min(cell.find(','), cell.size());
    std::string_view one = cell.substr(0, comma);
    while (one.starts_with(' ')) one.remove_prefix(1);
    all.push_back(parse<double>(one, column));
    cell.remove_prefix(std::min(comma + 1, cell.size()));
  }
  return all;
}

std::optional<ServerException> parse_exception(std::string_view body) {
  constexpr std::string_view kCode = "Code: ";
  const size_t at = body.find(kCode);
  if (at == body.npos || body.find("Exception", at) == body.npos) return std::nullopt;
  ServerException found;
  std::string_view rest = body.substr(at + kCode.size());
  if (std::from_chars(rest.data(), rest.data() + rest.size(), found.code).ec != std::errc()) return std::nullopt;
  constexpr std::string_view kBefore = "DB::Exception: ";
  if (const size_t text = rest.find(kBefore); text != rest.npos) rest.remove_prefix(text + kBefore.size());
  if (const size_t what = rest.find(", e.what()"); what != rest.npos) rest = rest.substr(0, what);
  while (!rest.empty() && (rest.back() == '\n' || rest.back() == ' ')) rest.remove_suffix(1);
  found.text = excerpt(rest);
  return found;
}

}  // namespace kymo::push
