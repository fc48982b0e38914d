#include "questions/parquet_columns.h"

#include <set>

#include "base/printable.h"
#include "base/text.h"
#include "questions/parquet_reader.h"
#include "query/session.h"

namespace kymo::fleet {
namespace {

// The table that a file with these columns belongs to; nullptr: none.
const push::TableSpec* table_with(const std::set<std::string>& columns) {
  for (const push::TableSpec* table : push::all_tables()) {
    if (table->columns.size() != columns.size()) continue;
    size_t found = 0;
    for (const push::ColumnSpec& column : table->columns) found += columns.contains(std::string(column.name)) ? 1 : 0;
    if (found == columns.size()) return table;
  }
  return nullptr;
}

}  // namespace

std::string of_other_table(const query::Engine& engine, const push::TableSpec& table, const std::string& file) {
  std::set<std::string> columns;
  try {
    for (const auto& row :
         rows_of(engine, base::format("SELECT column_name FROM (DESCRIBE SELECT * FROM read_parquet({}))",
                                      query::sql_literal(file)))
             .rows)
      columns.insert(row[0]);
  } catch (const query::QueryError&) {
    return {};
  }
  for (const push::ColumnSpec& column : table.columns) {
    if (columns.contains(std::string(column.name))) continue;
    const push::TableSpec* const other = table_with(columns);
    return base::format("{} is not a file of {}: it has no column {}{}", base::printable(file), table.name, column.name,
                        other != nullptr ? base::format(", and has those of {}", other->name) : "");
  }
  return {};
}

}  // namespace kymo::fleet
