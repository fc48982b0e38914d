#include "edge/text_table.h"

#include <algorithm>
#include <utility>

namespace kymo::edge {

namespace {

constexpr std::string_view kBetweenColumns = "  ", kLeftOut = "...";

bool begins_character(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; }

size_t width_of(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

// Where the character stands that has `count` before it.
size_t after_characters(std::string_view text, size_t count) {
  size_t at = 0;
  for (; at < text.size(); ++at)
    if (begins_character(text[at]) && count-- == 0) break;
  return at;
}

std::string printable(std::string text) {
  for (char& byte : text)
    if (static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f) byte = ' ';
  return text;
}

}  // namespace

void TextTable::add_column(std::string heading, Side side, size_t most, Cut cut) {
  most = std::max(most, kLeftOut.size() + 1);
  columns_.push_back({std::move(heading), side, most, cut});
}

void TextTable::add_row(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  for (size_t at = 0; at < cells.size(); ++at) {
    std::string& cell = cells[at] = printable(std::move(cells[at]));
    const size_t width = width_of(cell), most = columns_[at].most;
    if (width <= most) continue;
    const size_t kept = most - kLeftOut.size();
    cell = columns_[at].cut == Cut::End ? cell.substr(0, after_characters(cell, kept)).append(kLeftOut)
                                        : std::string(kLeftOut).append(cell, after_characters(cell, width - kept));
  }
  rows_.push_back(std::move(cells));
}

std::string TextTable::text() const {
  std::vector<size_t> widths;
  for (size_t at = 0; at < columns_.size(); ++at) {
    size_t width = width_of(columns_[at].heading);
    for (const std::vector<std::string>& row : rows_) width = std::max(width, width_of(row[at]));
    widths.push_back(width);
  }
  std::string out;
  const auto end_line = [&] {
    out.erase(out.find_last_not_of(' ') + 1);
    out += '\n';
  };
  const auto add_line = [&](auto cell_of) {
    for (size_t at = 0; at < columns_.size(); ++at) {
      if (at != 0) out += kBetweenColumns;
      const std::string& cell = cell_of(at);
      const size_t blanks = widths[at] - width_of(cell);
      if (columns_[at].side == Side::Right) out.append(blanks, ' ');
      out += cell;
      if (columns_[at].side == Side::Left) out.append(blanks, ' ');
    }
    end_line();
  };
  const auto add_dashes = [&] {
    for (size_t at = 0; at < columns_.size(); ++at) {
      if (at != 0) out += kBetweenColumns;
      out.append(widths[at], '-');
    }
    end_line();
  };
  add_dashes();
  add_line([&](size_t at) -> const std::string& { return columns_[at].heading; });
  add_dashes();
  for (const std::vector<std::string>& row : rows_) add_line([&](size_t at) -> const std::string& { return row[at]; });
  add_dashes();
  return out;
}

}  // namespace kymo::edge
