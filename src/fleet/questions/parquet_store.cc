#include "questions/parquet_store.h"

#include <ctime>
#include <filesystem>
#include <memory>
#include <utility>

#include "base/printable.h"
#include "base/temporary_file.h"
#include "base/text.h"
#include "kymo/error.h"
#include "query/session.h"
#include "questions/parquet_files.h"
#include "questions/parquet_tables.h"

namespace kymo::fleet {
namespace {

namespace fs = std::filesystem;

// "202611", of the first row. All rows of a block have the same month.
std::string month_of(std::string_view csv) {
  constexpr int kStarted = 2;  // the column
  for (int i = 0; i < kStarted; ++i) csv.remove_prefix(csv.find(',') + 1);
  const auto seconds = static_cast<time_t>(push::parse_u64(csv.substr(0, csv.find(',')), "started"));
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  return base::format("{:04}{:02}", parts.tm_year + 1900, parts.tm_mon + 1);
}

}  // namespace

ParquetStore::ParquetStore(std::string folder) : folder_(std::move(folder)), engine_(0, query::FileAccess::On) {}

void ParquetStore::prepare() {
  claim_folder(folder_);
  if (has_tables(folder_))
    return push::refuse_other_version(parquet_version(engine_, folder_), base::printable(folder_));
  for (const push::TableSpec* table : push::all_tables()) {
    make_folder(folder_of(folder_, *table));
    if (table != &push::kSchema) write(*table, "", base::format("{}/{}", folder_of(folder_, *table), kEmptyFile));
  }
  push::Block version(push::kSchema);
  version.number(push::kSchemaVersion);
  version.end_row();
  write(push::kSchema, version.encode(0), base::format("{}/{}", folder_of(folder_, push::kSchema), kVersionFile));
}

push::KnownTraces ParquetStore::known(const std::vector<uint64_t>& traces) {
  const push::Rows rows = ask_parquet(
      engine_, folder_,
      base::format(
          "SELECT trace, argMax(job, attempt), argMax(problems, attempt) FROM {} WHERE trace IN ({}) GROUP BY trace",
          parquet_table(folder_, push::kTraces), base::join(traces, ", ")));
  push::KnownTraces found;
  for (const auto& row : rows.rows)
    found[push::parse_u64(row[0], rows.columns[0])] = {row[1], push::parse_u64(row[2], rows.columns[2]) != 0};
  return found;
}

void ParquetStore::insert(const push::Block& block, uint64_t attempt) {
  if (std::exchange(attempt_, attempt) != attempt) {
    remove_unmarked();
    next_ = 0;
  }
  const std::string csv = block.encode(attempt);
  const std::string path =
      base::format("{}/{}", folder_of(folder_, block.table()), file_name(month_of(csv), attempt, next_++));
  const bool is_mark = block.table().name == push::kTraces.name;
  if (!is_mark) unmarked_.push_back(path);
  try {
    write(block.table(), csv, path);
  } catch (const Error&) {
    // A mark may be there although it is not known to be on disk. Then its rows count.
    std::error_code error;
    if (is_mark && (fs::exists(path, error) || error)) unmarked_.clear();
    remove_unmarked();
    throw;
  }
  if (is_mark) unmarked_.clear();
}

void ParquetStore::remove_unmarked() {
  std::error_code ignored;
  for (const std::string& file : unmarked_) fs::remove(file, ignored);
  unmarked_.clear();
}

void ParquetStore::write(const push::TableSpec& table, const std::string& csv, const std::string& path) {
  base::AtomicFile file(path);
  try {
    write_parquet(engine_, table, csv, file.temporary_path());
  } catch (const query::QueryError& problem) {
    throw Error(base::format("cannot write {}: {}", base::printable(path), first_line(problem.what())));
  }
  finish_file(file, fs::path(path).parent_path().string());
}

}  // namespace kymo::fleet
