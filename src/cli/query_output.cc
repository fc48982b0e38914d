#include "cli/query_output.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/json_text.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/text_table.h"
#include "cli/terminal.h"
#include "cli/units.h"

namespace kymo::cli {
namespace {

using base::TextBuffer;
using query::CellKind;

constexpr size_t kMaxTableRows = 10'000;
constexpr size_t kFlushAt = 1 << 16;

// `kymo query … | head`: the rest of a large result need not be computed.
bool has_reader_ended() {
  pollfd output{STDOUT_FILENO, 0, 0};
  return poll(&output, 1, 0) > 0 && (output.revents & POLLERR) != 0;
}

// Prints what was collected if it is enough. False: nobody reads it.
bool flush(TextBuffer& out, bool all) {
  if (!all && out.size() < kFlushAt) return true;
  print(out.view());
  out.clear();
  return !has_reader_ended();
}

// As in RFC 4180: quoted if necessary. NULL is an empty field, so an empty text has quotes.
void append_csv(TextBuffer& out, std::string_view text) {
  const auto is_special = [](char c) { return c == ',' || c == '"' || c == '\r' || c == '\n'; };
  if (!text.empty() && std::none_of(text.begin(), text.end(), is_special)) return out.append(text);
  out.push_back('"');
  for (const char c : text) {
    if (c == '"') out.push_back('"');
    out.push_back(c);
  }
  out.push_back('"');
}

void print_csv(query::Result& result) {
  const auto& columns = result.columns();
  TextBuffer out, cell;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (i != 0) out.push_back(',');
    append_csv(out, columns[i].name);
  }
  out.push_back('\n');
  while (result.next()) {
    for (size_t i = 0; i < columns.size(); ++i) {
      if (i != 0) out.push_back(',');
      if (result.is_null(i)) continue;
      cell.clear();
      result.append(cell, i);
      append_csv(out, cell.view());
    }
    out.push_back('\n');
    if (!flush(out, false)) return;
  }
  flush(out, true);
}

// A number as JSON writes it. It has no NaN, which is null, and no infinity, for which a number that is too large for a
// double stands: readers make an infinity of it.
std::string_view json_number(std::string_view text) {
  if (text.find('N') != text.npos) return "null";
  if (text.find('I') == text.npos) return text;
  return text.starts_with('-') ? "-1e999" : "1e999";
}

// The names of the columns, each once: the second "n" is "n_1", as in DuckDB.
std::vector<std::string> unique_names(const std::vector<query::Result::ColumnInfo>& columns) {
  std::set<std::string> taken;
  for (const auto& column : columns) taken.insert(column.name);
  std::set<std::string> seen;
  std::vector<std::string> names;
  for (const auto& column : columns) {
    std::string name = column.name;
    if (!seen.insert(name).second)
      for (size_t i = 1; !taken.insert(name).second; ++i) name = base::format("{}_{}", column.name, i);
    names.push_back(std::move(name));
  }
  return names;
}

void print_json(query::Result& result) {
  const auto& columns = result.columns();
  std::vector<std::string> keys;
  for (const std::string& name : unique_names(columns)) keys.push_back(base::json_quoted(name) + ":");
  TextBuffer out, cell;
  base::JsonArray rows(out);
  while (result.next()) {
    base::JsonObject row(rows.next());
    for (size_t i = 0; i < columns.size(); ++i) {
      TextBuffer& to = row.escaped_key(keys[i]);
      if (result.is_null(i)) {
        to.append("null");
        continue;
      }
      cell.clear();
      result.append(cell, i);
      if (columns[i].kind == CellKind::Text)
        append_json_string(to, cell.view());
      else
        to.append(columns[i].kind == CellKind::Number ? json_number(cell.view()) : cell.view());
    }
    row.close();
    if (!flush(out, false)) return;
  }
  rows.close();
  out.push_back('\n');
  flush(out, true);
}

std::string note_of(size_t rows, bool has_more) {
  return has_more ? base::format("(only the first {} shown: --csv and --json have all)\n", count_of(rows, "row"))
                  : base::format("({})\n", count_of(rows, "row"));
}

// Calls add(cells) for each row that is shown. Returns the note below the table.
template <typename Add>
std::string collect(query::Result& result, Add&& add) {
  size_t rows = 0;
  while (result.next()) {
    if (rows == kMaxTableRows) return note_of(rows, true);
    std::vector<std::string> cells;
    for (size_t i = 0; i < result.columns().size(); ++i)
      cells.push_back(result.is_null(i) ? "NULL" : base::printable(result.text(i)));
    add(std::move(cells));
    ++rows;
  }
  return note_of(rows, false);
}

// Reduces the widest columns of text until a row fits into a line of `line_width`. Columns of numbers stay complete.
std::vector<size_t> fitting_widths(std::vector<size_t> widths, const std::vector<query::Result::ColumnInfo>& columns,
                                   size_t line_width) {
  constexpr size_t kGap = 2, kNarrowest = 8;
  size_t total = kGap * (widths.size() - 1);
  for (const size_t width : widths) total += width;
  while (total > line_width) {
    size_t* widest = nullptr;
    for (size_t i = 0; i < widths.size(); ++i)
      if (columns[i].kind != CellKind::Number && (widest == nullptr || widths[i] > *widest)) widest = &widths[i];
    if (widest == nullptr || *widest <= kNarrowest) break;
    --*widest;
    --total;
  }
  return widths;
}

void print_table(query::Result& result) {
  const auto& columns = result.columns();
  std::vector<std::vector<std::string>> rows;
  std::vector<size_t> widths;
  for (const auto& column : columns) widths.push_back(base::display_width(base::printable(column.name)));
  const std::string note = collect(result, [&](std::vector<std::string> cells) {
    for (size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], base::display_width(cells[i]));
    rows.push_back(std::move(cells));
  });
  if (const auto line_width = terminal_width(Stream::Output)) widths = fitting_widths(widths, columns, *line_width);
  base::TextTable table;
  for (size_t i = 0; i < columns.size(); ++i)
    table.add_column(
        {base::printable(columns[i].name),
         columns[i].kind == CellKind::Number ? base::TextTable::Align::Right : base::TextTable::Align::Left,
         widths[i]});
  for (std::vector<std::string>& cells : rows) table.add(std::move(cells));
  print(shown(table) + note);
}

// A line of a Markdown table.
std::string markdown_line(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) {
    line += ' ';
    for (const char c : cell) line += c == '|' ? std::string("\\|") : std::string(1, c);
    line += " |";
  }
  return line + "\n";
}

void print_markdown(query::Result& result) {
  std::vector<std::string> names, rules;
  for (const auto& column : result.columns()) {
    names.push_back(base::printable(column.name));
    rules.push_back(column.kind == CellKind::Number ? "---:" : "---");
  }
  std::string text = markdown_line(names) + markdown_line(rules);
  const std::string note =
      collect(result, [&](const std::vector<std::string>& cells) { text += markdown_line(cells); });
  print(text + (note.starts_with("(only") ? "\n" + note : ""));
}

}  // namespace

void print_rows(query::Result& result, RowFormat format) {
  if (result.columns().empty()) return;  // CREATE TABLE and others
  switch (format) {
    case RowFormat::Table:
      return print_table(result);
    case RowFormat::Csv:
      return print_csv(result);
    case RowFormat::Json:
      return print_json(result);
    case RowFormat::Markdown:
      return print_markdown(result);
  }
}

}  // namespace kymo::cli
