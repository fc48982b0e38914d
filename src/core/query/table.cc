#include "query/table.h"

#include "query/point_table.h"
#include "query/range_table.h"
#include "query/small_tables.h"

namespace kymo::query {

const std::vector<std::string>& enum_texts(ColumnType type, const LoadedTraces& traces) {
  switch (type) {
    case ColumnType::Category:
      return traces.categories.texts();
    case ColumnType::Process:
      return traces.processes.texts();
    case ColumnType::Thread:
      return traces.threads.texts();
    case ColumnType::Device:
      return traces.devices.texts();
    case ColumnType::File:
      return traces.files.texts();
    case ColumnType::PointKind:
      return point_kinds();
    default:
      return traces.names.texts();
  }
}

void Output::attach(size_t column, duckdb::Vector vector, uint8_t width) {
  columns_[column] = {vector, api_.vector_get_data(vector), nullptr, width};
}

void Output::set_null(size_t column, size_t row) {
  Attached& attached = columns_[column];
  if (attached.vector == nullptr) return;
  if (attached.validity == nullptr) {
    api_.vector_ensure_validity_writable(attached.vector);
    attached.validity = api_.vector_get_validity(attached.vector);
  }
  attached.validity[row / 64] &= ~(uint64_t{1} << (row % 64));
}

void Output::set_text(size_t column, size_t row, std::string_view text) {
  const Attached& attached = columns_[column];
  if (attached.vector != nullptr) api_.vector_assign_string_element_len(attached.vector, row, text.data(), text.size());
}

void Output::set_enum(size_t column, size_t row, uint32_t number) {
  set_enums(column, row, 1, [number](size_t) { return number; });
}

const std::vector<Table>& all_tables() {
  static const std::vector<Table> all = [] {
    std::vector<Table> tables{range_table()};
    for (Table& table : point_tables()) tables.push_back(std::move(table));
    for (Table& table : small_tables()) tables.push_back(std::move(table));
    return tables;
  }();
  return all;
}

}  // namespace kymo::query
