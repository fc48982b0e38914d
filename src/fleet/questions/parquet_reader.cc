#include "questions/parquet_reader.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/file.h"
#include "base/printable.h"
#include "base/text.h"
#include "questions/parquet_block.h"
#include "questions/parquet_columns.h"
#include "questions/parquet_files.h"
#include "questions/text_name.h"
#include "query/session.h"

namespace kymo::fleet {
namespace {

using push::TableSpec;

std::string all_files(const std::string& folder, const TableSpec& table) {
  return query::sql_literal(base::format("{}/*{}", folder_of(folder, table), kParquetEnding));
}

// A table without rows, for one that has no file to read.
std::string empty_table(const TableSpec& table) {
  std::vector<std::string> columns;
  for (const push::ColumnSpec& column : table.columns)
    columns.push_back(base::format("CAST(NULL AS {}) AS {}", duckdb_type(column.type),
                                   query::sql_identifier(std::string(column.name))));
  return base::format("(SELECT {} WHERE false)", base::join(columns, ", "));
}

std::string columns_of(const TableSpec& table) {
  std::vector<std::string> names;
  for (const push::ColumnSpec& column : table.columns) names.push_back(query::sql_identifier(std::string(column.name)));
  return base::join(names, ", ");
}

std::string reason(const query::Engine& engine, const TableSpec& table, const std::string& file) {
  if (::access(file.c_str(), R_OK) != 0) return base::file_error("read", file, errno).what();
  const std::string other = of_other_table(engine, table, file);
  return other.empty() ? base::printable(file) + " is damaged" : other;
}

}  // namespace

push::Rows rows_of(const query::Engine& engine, const std::string& statement) {
  query::Result result = query::run_statement(engine, statement);
  push::Rows rows;
  for (const auto& column : result.columns()) rows.columns.push_back(column.name);
  while (result.next()) {
    auto& row = rows.rows.emplace_back();
    for (size_t i = 0; i < rows.columns.size(); ++i)
      row.push_back(result.is_null(i) ? std::string() : name_of_text(result.text(i)));
  }
  return rows;
}

std::string parquet_table(const std::string& folder, const TableSpec& table) {
  return base::format("read_parquet({})", all_files(folder, table));
}

std::string file_list(const std::vector<std::string>& files) {
  std::vector<std::string> literals;
  for (const std::string& file : files) literals.push_back(query::sql_literal(file));
  return base::format("[{}]", base::join(literals, ", "));
}

std::string first_line(std::string_view text) { return base::printable(std::string(text.substr(0, text.find('\n')))); }

query::Engine& ParquetReader::engine() {
  if (!engine_) engine_.emplace(0, query::FileAccess::On);
  return *engine_;
}

push::Rows ParquetReader::ask(const std::string& statement) {
  for (;;) {
    try {
      return rows_of(engine(), with_readable_files(statement));
    } catch (const query::QueryError& problem) {
      if (find_unreadable()) continue;
      throw Error(
          base::format("cannot read the files in {}: {}", base::printable(folder_), first_line(problem.what())));
    }
  }
}

std::string ParquetReader::files_of(const TableSpec& table) const {
  std::vector<std::string> files = table_files(folder_, table);
  const size_t all = files.size();
  std::erase_if(files, [&](const std::string& file) { return is_unreadable(file); });
  if (files.empty()) return {};
  return files.size() == all ? all_files(folder_, table) : file_list(files);
}

// A text of the user has no such part: the quotes in it are doubled.
std::string ParquetReader::with_readable_files(std::string statement) const {
  if (unreadable_.empty()) return statement;
  for (const TableSpec* table : push::all_tables()) {
    const std::string whole = parquet_table(folder_, *table), files = files_of(*table);
    const std::string part = files.empty() ? empty_table(*table) : base::format("read_parquet({})", files);
    for (size_t at = 0; part != whole && (at = statement.find(whole, at)) != statement.npos; at += part.size())
      statement.replace(at, whole.size(), part);
  }
  return statement;
}

// `statement` makes one that reads these files. Halves them until it is known which of them cannot be read.
template <typename Statement>
bool ParquetReader::find_in(const TableSpec& table, const Files& files, const Statement& statement) {
  if (files.empty()) return false;
  try {
    (void)rows_of(engine(), statement(file_list(files)));
    return false;
  } catch (const query::QueryError&) {
  }
  if (files.size() == 1) {
    if (::access(files[0].c_str(), F_OK) != 0) return false;  // removed just now
    unreadable_[files[0]] = reason(engine(), table, files[0]);
    return true;
  }
  const auto middle = files.begin() + static_cast<std::ptrdiff_t>(files.size() / 2);
  const bool in_first = find_in(table, Files(files.begin(), middle), statement);
  return find_in(table, Files(middle, files.end()), statement) || in_first;
}

bool ParquetReader::find_unreadable() {
  const auto find = [&](bool with_values) {
    bool found = false;
    for (const TableSpec* table : push::all_tables()) {
      Files files = table_files(folder_, *table);
      std::erase_if(files, [&](const std::string& file) { return is_unreadable(file); });
      found |= find_in(*table, files, [&](const std::string& list) {
        return with_values ? base::format("SELECT max(hash({})) FROM read_parquet({})", columns_of(*table), list)
                           : base::format("SELECT count(*) FROM parquet_metadata({})", list);
      });
    }
    return found;
  };
  return find(false) || find(true);
}

void ParquetReader::leave_out(const std::string& file) {
  unreadable_.try_emplace(file, base::format("{} is damaged", base::printable(file)));
}

bool ParquetReader::has_footer(const std::string& file) {
  try {
    (void)rows_of(engine(), base::format("SELECT count(*) FROM parquet_metadata({})", query::sql_literal(file)));
    return true;
  } catch (const query::QueryError&) {
    return false;
  }
}

}  // namespace kymo::fleet
