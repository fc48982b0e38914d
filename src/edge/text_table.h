// Columns of text under headings, between lines of dashes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace kymo::edge {

class TextTable {
 public:
  enum class Side { Left, Right };
  enum class Cut { End, Begin };  // what of a cell that is too wide goes

  // A column is as wide as its widest cell, but no wider than `most` characters.
  void add_column(std::string heading, Side side = Side::Right, size_t most = 80, Cut cut = Cut::End);
  // A cell for each column. Control characters become blanks.
  void add_row(std::vector<std::string> cells);

  // Lines end without blanks.
  std::string text() const;

 private:
  struct Column {
    std::string heading;
    Side side;
    size_t most;
    Cut cut;
  };

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace kymo::edge
