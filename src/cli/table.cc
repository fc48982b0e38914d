#include "cli/table.h"

#include <algorithm>
#include <utility>

#include "cli/terminal.h"
#include "cli/text.h"
#include "kymo/error.h"

namespace kymo::cli {
namespace {

constexpr size_t kGap = 2;
constexpr size_t kNarrowestCut = 12;  // a name cut further than this says nothing

}  // namespace

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

void Table::add(std::vector<std::string> cells) {
  if (cells.size() != columns_.size())
    throw InvalidArgument("a table row must have as many cells as the table columns");
  rows_.push_back(std::move(cells));
}

std::string Table::text(std::optional<size_t> width, size_t indent) const {
  std::vector<std::string> headings;
  std::vector<size_t> widths;
  for (size_t i = 0; i < columns_.size(); ++i) {
    headings.push_back(columns_[i].heading);
    widths.push_back(display_width(columns_[i].heading));
    for (const auto& row : rows_) widths[i] = std::max(widths[i], display_width(row[i]));
  }
  std::string text = coloured(line(headings, widths, width, indent), Colour::Dim, Stream::Output) + "\n";
  for (const auto& row : rows_) text += line(row, widths, width, indent) + "\n";
  return text;
}

std::string Table::line(const std::vector<std::string>& cells, const std::vector<size_t>& widths,
                        std::optional<size_t> width, size_t indent) const {
  std::string text(indent, ' ');
  size_t used = indent;
  for (size_t i = 0; i < cells.size(); ++i) {
    const bool last = i + 1 == cells.size();
    std::string cell = cells[i];
    if (last && width) cell = shorten(cell, std::max(kNarrowestCut, *width > used ? *width - used : 0));
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

}  // namespace kymo::cli
