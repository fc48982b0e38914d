#include "questions/parquet_tables.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <span>
#include <vector>

#include "base/file.h"
#include "base/printable.h"
#include "base/text.h"
#include "kymo/error.h"
#include "query/session.h"
#include "questions/parquet_files.h"
#include "questions/text_name.h"

namespace kymo::fleet {
namespace {

using push::ColumnType;

// As DuckDB writes it. Times are seconds since 1970 in the CSV.
std::string_view type_of(ColumnType type) {
  switch (type) {
    case ColumnType::U8:
      return "UTINYINT";
    case ColumnType::U16:
      return "USMALLINT";
    case ColumnType::U32:
      return "UINTEGER";
    case ColumnType::I32:
      return "INTEGER";
    case ColumnType::U64:
      return "UBIGINT";
    case ColumnType::I64:
    case ColumnType::Date:
      return "BIGINT";
    case ColumnType::Text:
    case ColumnType::Name:
      break;
  }
  return "VARCHAR";
}

// Names have any length, and may have line feeds. DuckDB's buffers are a multiple of the longest row.
size_t longest_row(std::string_view csv) {
  size_t longest = 0, begin = 0;
  bool is_quoted = false;
  for (size_t i = 0; i < csv.size(); ++i) {
    is_quoted ^= csv[i] == '"';
    if (csv[i] != '\n' || is_quoted) continue;
    longest = std::max(longest, i + 1 - begin);
    begin = i + 1;
  }
  return longest;
}

}  // namespace

void write_parquet(query::Engine& engine, const push::TableSpec& table, const std::string& csv,
                   const std::string& path) {
  const std::string text = text_of_name(csv);
  size_t written = 0;
  const base::FileDescriptor memory(::memfd_create("kymo", MFD_CLOEXEC));
  if (!memory) throw base::file_error("write", path, errno);
  if (const int problem = base::write_all(memory.get(), std::as_bytes(std::span(text)), written); problem != 0)
    throw base::file_error("write", path, problem);
  std::vector<std::string> columns, values;
  for (const push::ColumnSpec& column : table.columns) {
    columns.push_back(base::format("'{}': '{}'", column.name, type_of(column.type)));
    values.push_back(column.type == ColumnType::Date ? base::format("make_timestamp({0} * 1000000) AS {0}", column.name)
                                                     : query::sql_identifier(std::string(column.name)));
  }
  constexpr size_t kUsualRow = 1 << 20;
  engine.execute(base::format(
      R"(COPY (SELECT {} FROM read_csv('/proc/self/fd/{}', columns = {{{}}}, auto_detect = false, header = false,
  delim = ',', quote = '"', escape = '"', allow_quoted_nulls = false, parallel = false, max_line_size = {}))
TO {} (FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false))",
      base::join(values, ", "), memory.get(), base::join(columns, ", "), std::max(longest_row(text), kUsualRow) + 1,
      query::sql_literal(path)));
}

std::string parquet_table(const std::string& folder, const push::TableSpec& table) {
  return base::format("read_parquet({})",
                      query::sql_literal(base::format("{}/*{}", folder_of(folder, table), kParquetEnding)));
}

std::string first_line(std::string_view text) { return base::printable(std::string(text.substr(0, text.find('\n')))); }

namespace {

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

// Throws kymo::Error if a file of the folder cannot be read.
void refuse_damaged_file(const query::Engine& engine, const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  for (auto entry = fs::recursive_directory_iterator(folder, error); !error && entry != fs::end(entry);
       entry.increment(error)) {
    const std::string file = entry->path().string();
    if (entry->path().extension() != kParquetEnding) continue;
    try {
      (void)rows_of(engine, base::format("SELECT max(hash(t)) FROM read_parquet({}) AS t", query::sql_literal(file)));
    } catch (const query::QueryError& problem) {
      throw Error(
          base::format("cannot read {}: {}; if it is damaged, delete all files of {} with the same number in their "
                       "names, and push the traces again",
                       base::printable(file), first_line(problem.what()), base::printable(folder)));
    }
  }
}

}  // namespace

push::Rows ask_parquet(const query::Engine& engine, const std::string& folder, const std::string& statement) {
  try {
    return rows_of(engine, statement);
  } catch (const query::QueryError& problem) {
    refuse_damaged_file(engine, folder);
    throw Error(base::format("cannot read the files in {}: {}", base::printable(folder), first_line(problem.what())));
  }
}

uint64_t parquet_version(const query::Engine& engine, const std::string& folder) {
  const push::Rows rows = ask_parquet(
      engine, folder, base::format("SELECT coalesce(max(version), 0) FROM {}", parquet_table(folder, push::kSchema)));
  return push::parse_u64(rows.rows.at(0).at(0), "version");
}

}  // namespace kymo::fleet
