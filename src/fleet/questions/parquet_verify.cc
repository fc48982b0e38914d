#include "questions/parquet_verify.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <map>

#include "base/bytes.h"
#include "base/file.h"
#include "base/printable.h"
#include "base/text.h"
#include "questions/parquet_reader.h"
#include "push/trace_file.h"
#include "push/trace_rows.h"
#include "query/session.h"

namespace kymo::fleet {
namespace {

namespace fs = std::filesystem;

struct Counted {
  std::map<std::string, uint64_t> rows;    // by table
  std::map<std::string, uint64_t> hashes;  // by file
};

Counted read_counts(const query::Engine& engine, const std::vector<std::string>& files) {
  Counted counted;
  for (const std::string& file : files) {
    const push::Rows rows =
        rows_of(engine, base::format("SELECT trace = {}, of_table, CAST(sum(row_count) AS UBIGINT), max(hash(t))\n"
                                     "FROM read_parquet({}) AS t GROUP BY ALL",
                                     kFileRows, query::sql_literal(file)));
    for (const auto& row : rows.rows)
      (row[0] == "true" ? counted.hashes : counted.rows)[row[1]] += push::parse_u64(row[2], "row_count");
  }
  return counted;
}

// Reads all columns. Throws query::QueryError.
uint64_t rows_in(const query::Engine& engine, const std::string& file, uint64_t attempt) {
  const push::Rows rows = rows_of(
      engine, base::format("SELECT count(*) FILTER (attempt = {} AND starts_with({}, strftime(started, '%Y%m'))), "
                           "count(*), max(hash(t))\nFROM read_parquet({}) AS t",
                           attempt, query::sql_literal(fs::path(file).filename().string()), query::sql_literal(file)));
  const uint64_t own = push::parse_u64(rows.rows.at(0).at(0), "rows");
  if (own != push::parse_u64(rows.rows.at(0).at(1), "rows"))
    throw query::QueryError("it has rows of another attempt or month");
  return own;
}

// Reads no values.
uint64_t rows_of_footer(const query::Engine& engine, const std::string& file) {
  return push::parse_u64(
      rows_of(engine, base::format("SELECT count(*) FROM read_parquet({})", query::sql_literal(file))).rows.at(0).at(0),
      "rows");
}

std::string table_of(const std::string& file) { return fs::path(file).parent_path().filename().string(); }

// Throws kymo::Error if the file is damaged.
void check_file(const query::Engine& engine, const std::string& file, uint64_t attempt, const Counted& counted,
                std::map<std::string, uint64_t>& rows) {
  const auto hash = counted.hashes.find(path_in_folder(file));
  if (hash != counted.hashes.end() && push::trace_number(file) != hash->second)
    throw Error("it has other bytes than were written");
  rows[table_of(file)] += hash == counted.hashes.end() ? rows_in(engine, file, attempt) : rows_of_footer(engine, file);
}

// Why a file is not what was written, for people.
std::string damaged(const std::string& file) {
  if (::access(file.c_str(), R_OK) != 0) return base::file_error("read", file, errno).what();
  return base::format("{} is damaged: delete it", base::printable(file));
}

}  // namespace

push::Block with_hashes(const push::Block& row_counts, const std::vector<FileHash>& hashes) {
  push::Block block = row_counts;
  // Of the same month as the others.
  const auto started = base::load<uint32_t>(reinterpret_cast<const std::byte*>(row_counts.fixed(2).data()));
  for (const FileHash& one : hashes) {
    push::RowHead head;
    head.trace = kFileRows;
    head.started = started;
    head.add_to(block);
    block.text(one.file);
    block.number(one.hash);
    block.end_row();
  }
  return block;
}

std::string path_in_folder(const std::string& file) {
  return base::format("{}/{}", table_of(file), fs::path(file).filename().string());
}

std::string damage_of(const query::Engine& engine, const std::string& folder, uint64_t number, const Attempt& attempt) {
  Counted counted;
  const std::vector<std::string> count_files = attempt.files_of(folder, push::kRowCounts);
  try {
    counted = read_counts(engine, count_files);
  } catch (const query::QueryError&) {
    return damaged(count_files.front());
  }
  if (counted.rows.empty() && !count_files.empty()) return damaged(count_files.front());  // it had some
  std::map<std::string, uint64_t> rows;
  for (const auto& [place, file] : attempt.files) {
    try {
      check_file(engine, file, number, counted, rows);
    } catch (const Error&) {
      return damaged(file);
    }
  }
  for (const auto& [table, count] : counted.rows)
    if (rows[table] != count)
      return base::format("{} has {} rows of it in {} instead of {}", base::printable(folder), rows[table], table,
                          count);
  return {};
}

std::vector<std::string> changed_files(const query::Engine& engine, const std::string& folder, const Attempt& attempt) {
  std::vector<std::string> changed;
  const std::vector<std::string> count_files = attempt.files_of(folder, push::kRowCounts);
  Counted counted;
  try {
    counted = read_counts(engine, count_files);
  } catch (const query::QueryError&) {
    return count_files;
  }
  for (const auto& [place, file] : attempt.files) {
    const auto hash = counted.hashes.find(path_in_folder(file));
    if (hash == counted.hashes.end()) continue;
    try {
      if (push::trace_number(file) == hash->second) continue;
    } catch (const Error&) {
    }
    changed.push_back(file);
  }
  return changed;
}

bool has_own_name(const query::Engine& engine, const std::string& counts_file) {
  const std::string name = fs::path(counts_file).filename().string();
  const std::string month_and_attempt = name.substr(0, name.rfind('-') + 1);
  try {
    for (const auto& [file, hash] : read_counts(engine, {counts_file}).hashes)
      if (fs::path(file).filename().string().starts_with(month_and_attempt)) return true;
  } catch (const query::QueryError&) {
  }
  return false;
}

}  // namespace kymo::fleet
