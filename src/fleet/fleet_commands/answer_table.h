// The rows of an answer of `kymo fleet`: each cell is given once, and is printed in a table or as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/json_writer.h"
#include "base/text_table.h"
#include "cli/units.h"
#include "questions/answers.h"
#include "questions/text_name.h"

namespace kymo::cli {

class AnswerTable {
 public:
  using Value = std::variant<bool, uint64_t, int64_t, double, std::string>;

  // Every row has the same cells. A cell without a title is only in JSON, and one without a key only in the table.
  void begin_row() { rows_.emplace_back(); }
  void number(std::string_view key, Value value, std::string_view title, std::string text) {
    rows_.back().push_back({key, title, std::move(value), std::move(text), Align::Right});
  }
  void text(std::string_view key, Value value, std::string_view title, std::string text) {
    rows_.back().push_back({key, title, std::move(value), std::move(text), Align::Left});
  }
  void only_json(std::string_view key, Value value) { text(key, std::move(value), {}, {}); }
  void count(std::string_view key, uint64_t value, std::string_view title) {
    number(key, value, title, count_text(value));
  }
  void duration(std::string_view key, uint64_t ns, std::string_view title) {
    number(key, ns, title, duration_text(ns));
  }
  void date(std::string_view key, int64_t seconds, std::string_view title) {
    text(key, seconds, title, date_text(seconds * 1'000'000'000));
  }
  void trace(std::string_view key, uint64_t number, std::string_view title) {
    text(key, fleet::trace_text(number), title, fleet::trace_text(number));
  }
  void name(std::string_view key, const std::string& name, std::string_view title) {
    text(key, fleet::text_of_name(name), title, fleet::shown_name(name));
  }

  size_t size() const { return rows_.size(); }

  // The headings of no rows are not known: then it is empty.
  base::TextTable table() const {
    base::TextTable table;
    for (const auto& row : rows_) {
      std::vector<std::string> cells;
      for (const Cell& cell : row) {
        if (cell.title.empty()) continue;
        if (&row == &rows_.front()) table.add_column({std::string(cell.title), cell.align});
        cells.push_back(cell.text);
      }
      table.add(std::move(cells));
    }
    return table;
  }
  void write(base::JsonWriter& json) const {
    json.objects("rows", rows_, [&](const std::vector<Cell>& row) {
      for (const Cell& cell : row)
        if (!cell.key.empty()) std::visit([&](const auto& value) { json.field(cell.key, value); }, cell.value);
    });
  }

 private:
  using Align = base::TextTable::Align;
  struct Cell {
    std::string_view key, title;
    Value value;
    std::string text;
    Align align;
  };
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace kymo::cli
