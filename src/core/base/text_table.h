// Aligned columns of text under headings.
//
//   TextTable table({"total", "count"}, {{"name"}});
//   table.add({"1.20 s", "12", "step {}"});
//   print(table.text());
//
// Cells are printable text (base/printable.h). A line never ends with spaces.
#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kymo::base {

class TextTable {
 public:
  enum class Align { Left, Right };
  enum class Cut { End, Begin };  // which part of a cell is removed if it is too wide
  static constexpr size_t kUnlimited = ~size_t{0};
  struct Column {
    std::string heading;
    Align align = Align::Left;
    size_t max_width = kUnlimited;
    Cut cut = Cut::End;
    // Makes a text fit into so many characters of a terminal, instead of a cut at its end. Only of the last column.
    std::function<std::string(std::string_view, size_t)> shorten = {};
  };

  struct Style {
    std::optional<size_t> width = {};  // max length of a line: the last column is cut to fit, but stays readable
    size_t indent = 0;
    bool rules = false;                                    // lines of dashes around the headings and at the end
    std::string title = {};                                // with rules: a line above the headings
    std::string_view ellipsis = "…";                       // replaces what was cut off
    std::function<std::string(std::string)> heading = {};  // changes the line of headings, for example its colour
  };

  explicit TextTable(std::vector<Column> columns = {}) : columns_(std::move(columns)) {}
  TextTable(std::initializer_list<const char*> numbers, std::vector<Column> others)
      : columns_(columns(numbers, std::move(others))) {}
  // Columns of numbers, which are aligned to the right, before others.
  static std::vector<Column> columns(std::initializer_list<const char*> numbers, std::vector<Column> others = {}) {
    std::vector<Column> all;
    for (const char* const heading : numbers) all.push_back({heading, Align::Right});
    all.insert(all.end(), others.begin(), others.end());
    return all;
  }

  void add_column(Column column) { columns_.push_back(std::move(column)); }
  // Throws InvalidArgument if the number of cells is not the number of columns.
  void add(std::vector<std::string> cells);
  size_t size() const { return rows_.size(); }

  std::string text(const Style& style) const;
  std::string text() const { return text(Style()); }

 private:
  using Cells = std::vector<std::string>;
  std::string line(const Cells& cells, const std::vector<size_t>& widths, const Style& style) const;

  std::vector<Column> columns_;
  std::vector<Cells> rows_;
};

}  // namespace kymo::base
