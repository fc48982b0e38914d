#include "questions/parquet_footers.h"

#include <filesystem>
#include <functional>

#include "base/text.h"
#include "questions/parquet_files.h"
#include "kymo/error.h"
#include "push/tables.h"
#include "query/session.h"

namespace kymo::fleet {
namespace {

// "2026-11-17 12:00:00" as the month of a name: "202611".
std::string month_of(const std::string& time) {
  return time.substr(0, 4) + time.substr(std::min<size_t>(5, time.size()), 2);
}

void add_footers(std::map<std::string, Footer>& footers, const push::Rows& rows) {
  for (const auto& row : rows.rows) {
    Footer& footer = footers[row[0]];
    const bool is_attempt = row[1] == push::kAttemptColumn;
    if (is_attempt) footer.rows = push::parse_u64(row[2], "rows");
    (is_attempt ? footer.first_attempt : footer.first_started) = row[3];
    (is_attempt ? footer.last_attempt : footer.last_started) = row[4];
  }
}

}  // namespace

namespace {

// The answer of all files of a table that can be read. `statement` has a list of files. Empty if there are none.
push::Rows ask_table(ParquetReader& reader, const push::TableSpec& table,
                     const std::function<std::string(const std::string&)>& statement) {
  for (std::string files = reader.files_of(table); !files.empty(); files = reader.files_of(table)) {
    try {
      return rows_of(reader.engine(), statement(files));
    } catch (const query::QueryError& problem) {
      if (!reader.find_unreadable()) throw Error(first_line(problem.what()));
    }
  }
  return {};
}

}  // namespace

std::map<std::string, Footer> read_footers(ParquetReader& reader) {
  std::map<std::string, Footer> footers;
  for (const push::TableSpec* table : push::all_tables()) {
    if (table == &push::kSchema) continue;
    add_footers(footers, ask_table(reader, *table, [](const std::string& files) {
                  return base::format(
                      "SELECT file_name, path_in_schema, CAST(sum(row_group_num_rows) AS UBIGINT), "
                      "min(stats_min_value), max(stats_max_value)\n"
                      "FROM parquet_metadata({})\nWHERE path_in_schema IN ('attempt', 'started')\n"
                      "GROUP BY file_name, path_in_schema",
                      files);
                }));
  }
  return footers;
}

void read_attempts(ParquetReader& reader, std::map<std::string, Footer>& footers) {
  for (const push::TableSpec* table : {&push::kIterations, &push::kOperations, &push::kCollectives, &push::kDeviceTime,
                                       &push::kRuns, &push::kRowCounts}) {
    const push::Rows rows = ask_table(reader, *table, [](const std::string& files) {
      return base::format(
          "SELECT filename, min(attempt), max(attempt) FROM read_parquet({}, filename = true) GROUP BY filename",
          files);
    });
    for (const auto& row : rows.rows) {
      const auto footer = footers.find(row[0]);
      if (footer == footers.end()) continue;
      footer->second.first_attempt = row[1];
      footer->second.last_attempt = row[2];
    }
  }
}

std::vector<std::string> misplaced_files(const std::map<std::string, Footer>& footers) {
  std::vector<std::string> found;
  for (const auto& [file, footer] : footers) {
    const std::string name = std::filesystem::path(file).filename().string();
    if (!is_file_name(name)) continue;  // foreign_files() has it
    const std::string wanted = std::to_string(attempt_in(name).value_or(0));
    const bool has_attempt = footer.first_attempt == wanted && footer.last_attempt == wanted;
    const bool has_month =
        name.starts_with(month_of(footer.first_started)) && name.starts_with(month_of(footer.last_started));
    if (!has_attempt || !has_month) found.push_back(file);
  }
  return found;
}

}  // namespace kymo::fleet
