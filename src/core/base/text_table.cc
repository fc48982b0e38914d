#include "base/text_table.h"

#include <algorithm>
#include <utility>

#include "base/printable.h"
#include "base/text.h"
#include "kymo/error.h"

namespace kymo::base {
namespace {

constexpr size_t kGap = 2;
constexpr size_t kNarrowestCut = 12;  // a shorter part of a name is useless

}  // namespace

void TextTable::add(std::vector<std::string> cells) {
  if (cells.size() != columns_.size())
    throw InvalidArgument(format("{} cells for a table with {} columns", cells.size(), columns_.size()));
  rows_.push_back(std::move(cells));
}

std::string TextTable::text(const Style& style) const {
  std::vector<Cells> rows = rows_;
  Cells headings;
  std::vector<size_t> widths;
  for (size_t i = 0; i < columns_.size(); ++i) {
    const Column& column = columns_[i];
    headings.push_back(column.heading);
    widths.push_back(display_width(column.heading));
    for (Cells& row : rows) {
      row[i] = column.cut == Cut::End ? shorten(row[i], column.max_width, style.ellipsis)
                                      : shorten_front(row[i], column.max_width, style.ellipsis);
      widths[i] = std::max(widths[i], display_width(row[i]));
    }
  }

  std::string rule;
  if (style.rules) {
    Cells dashes;
    for (const size_t width : widths) dashes.emplace_back(width, '-');
    rule = line(dashes, widths, style) + "\n";
  }
  std::string text;
  if (!style.title.empty()) text += rule + std::string(style.indent, ' ') + style.title + "\n";
  text += rule;
  const std::string first = line(headings, widths, style);
  text += (style.heading ? style.heading(first) : first) + "\n" + rule;
  for (const Cells& row : rows) text += line(row, widths, style) + "\n";
  return text + rule;
}

std::string TextTable::line(const Cells& cells, const std::vector<size_t>& widths, const Style& style) const {
  std::string text(style.indent, ' ');
  size_t used = style.indent;
  for (size_t i = 0; i < cells.size(); ++i) {
    const bool last = i + 1 == cells.size();
    std::string cell = cells[i];
    if (last && style.width) {
      const size_t room = std::max(kNarrowestCut, *style.width > used ? *style.width - used : 0);
      cell = shorten(columns_[i].shorten ? columns_[i].shorten(cell, room) : cell, room, style.ellipsis);
    }
    const std::string padding(widths[i] - std::min(widths[i], display_width(cell)), ' ');
    const bool right = columns_[i].align == Align::Right;
    if (right) text += padding;
    text += cell;
    if (last) break;
    if (!right) text += padding;
    text.append(kGap, ' ');
    used += widths[i] + kGap;
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

}  // namespace kymo::base
