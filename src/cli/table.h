// Aligned columns of text: numbers to the right, words to the left, the last column cut to the terminal's width.
//
//   Table table({{"total", Table::Align::Right}, {"name"}});
//   table.add({"1.20 s", "step {}"});
//   print(table.text());
//
// Cells must be printable already (text.h). The line of headings is dimmed on a terminal.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace kymo::cli {

class Table {
 public:
  enum class Align { Left, Right };
  struct Column {
    std::string heading;
    Align align = Align::Left;
  };

  explicit Table(std::vector<Column> columns);

  // As many cells as columns.
  void add(std::vector<std::string> cells);
  size_t size() const { return rows_.size(); }

  // Lines end without trailing spaces and begin with `indent` of them. `width`: cut the last column so that no line is
  // longer, but never below a readable minimum; none: nothing is cut.
  std::string text(std::optional<size_t> width = std::nullopt, size_t indent = 0) const;

 private:
  std::string line(const std::vector<std::string>& cells, const std::vector<size_t>& widths,
                   std::optional<size_t> width, size_t indent) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace kymo::cli
