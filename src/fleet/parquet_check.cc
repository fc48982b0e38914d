#include "fleet/parquet_check.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <set>

#include "base/file.h"
#include "base/printable.h"
#include "base/text.h"
#include "fleet/answers.h"
#include "fleet/parquet_columns.h"
#include "fleet/parquet_files.h"
#include "fleet/parquet_footers.h"
#include "fleet/parquet_store.h"
#include "fleet/parquet_verify.h"
#include "query/engine.h"
#include "query/session.h"

namespace kymo::fleet {
namespace {

namespace fs = std::filesystem;

// Reads a file alone if one of them cannot be read.
push::Rows unmarked_in(const query::Engine& engine, const std::vector<std::string>& files, const std::string& folder) {
  std::vector<std::string> literals;
  for (const std::string& file : files) literals.push_back(query::sql_literal(file));
  try {
    return rows_of(
        engine,
        base::format("SELECT trace, 'job ' || argMax(job, attempt)\nFROM read_parquet([{}], union_by_name = true)\n"
                     "WHERE trace != {} AND trace NOT IN (SELECT trace FROM {})\nGROUP BY trace ORDER BY trace",
                     base::join(literals, ", "), kFileRows, parquet_table(folder, push::kTraces)));
  } catch (const query::QueryError&) {
    push::Rows all;
    if (files.size() == 1) return all;
    std::set<std::vector<std::string>> found;
    for (const std::string& file : files)
      for (auto& row : unmarked_in(engine, {file}, folder).rows) found.insert(std::move(row));
    all.rows.assign(found.begin(), found.end());
    return all;
  }
}

// What `row_counts` says about an attempt.
struct Expected {
  uint64_t traces = 0;
  std::map<std::string, uint64_t> rows;  // by table
};
std::map<uint64_t, Expected> read_expected(const query::Engine& engine, const std::string& folder) {
  std::map<uint64_t, Expected> found;
  if (!has_files(folder, push::kRowCounts)) return found;
  const push::Rows rows =
      rows_of(engine, base::format("SELECT attempt, of_table, CAST(sum(row_count) AS UBIGINT), count(DISTINCT trace)\n"
                                   "FROM {} WHERE trace != {} GROUP BY attempt, of_table",
                                   parquet_table(folder, push::kRowCounts), kFileRows));
  for (const auto& row : rows.rows) {
    Expected& one = found[push::parse_u64(row[0], "attempt")];
    one.rows[row[1]] = push::parse_u64(row[2], "row_count");
    one.traces = std::max(one.traces, push::parse_u64(row[3], "traces"));
  }
  return found;
}

uint64_t rows_in(const std::map<std::string, Footer>& footers, const std::vector<std::string>& files) {
  uint64_t sum = 0;
  for (const std::string& file : files)
    if (const auto found = footers.find(file); found != footers.end()) sum += found->second.rows;
  return sum;
}

// What of an attempt with a mark is missing, for people; empty if nothing is.
std::string missing_of(const std::string& folder, uint64_t number, const Attempt& attempt, const Expected& expected,
                       const std::map<std::string, Footer>& footers) {
  if (const uint64_t count = attempt.missing_count(); count > 0) {
    const std::vector<std::string> missing = attempt.missing(number);
    return base::format("{}{} of {} {} missing", base::join(missing, ", "),
                        count > missing.size() ? base::format(" and {} more", count - missing.size()) : "",
                        base::printable(folder), count == 1 ? "is" : "are");
  }
  const std::vector<std::string> counts = attempt.files_of(folder, push::kRowCounts);
  if (!counts.empty() && expected.rows.empty()) return base::format("{} has no rows", base::printable(counts.front()));
  for (const push::TableSpec* table : push::all_tables()) {
    const auto wanted = expected.rows.find(std::string(table->name));
    if (wanted == expected.rows.end()) continue;
    const std::vector<std::string> files = attempt.files_of(folder, *table);
    if (const uint64_t found = rows_in(footers, files); found != wanted->second)
      return base::format("{} {} {} rows instead of {}",
                          files.empty() ? folder_of(folder, *table) : base::printable(files.front()),
                          files.size() > 1 ? "and the next ones have" : "has", found, wanted->second);
  }
  return {};
}

// Marks that were lost: the attempt has no file for them, or the file has other rows than it was written with.
bool has_marks(const std::string& folder, const Attempt& attempt, const Expected& expected,
               const std::map<std::string, Footer>& footers) {
  if (!attempt.mark) return false;
  if (expected.rows.empty()) return true;  // an older version wrote no counts
  const auto found = footers.find(attempt.files_of(folder, push::kTraces).front());
  return found != footers.end() && found->second.rows == expected.traces;
}

std::string misplaced_text(const std::vector<std::string>& files, const std::string& folder) {
  const size_t more = files.size() - 1;
  return base::format("{}{} rows of another attempt or month than {} says: move {} out of {}",
                      base::printable(files[0]), more == 0 ? " has" : base::format(" and {} more have", more),
                      more == 0 ? "its name" : "their names", more == 0 ? "it" : "them", base::printable(folder));
}

// The traces whose newest attempt is this one, by name; empty if that cannot be read.
std::string traces_of(const query::Engine& engine, const std::string& folder, uint64_t attempt) {
  try {
    return trace_names(rows_of(
        engine, base::format("SELECT trace, argMax(file, attempt) FROM {} GROUP BY trace HAVING max(attempt) = {}\n"
                             "ORDER BY 2, trace",
                             parquet_table(folder, push::kTraces), attempt)));
  } catch (const query::QueryError&) {
    return {};
  }
}

}  // namespace

std::vector<std::string> incomplete_traces(const std::string& folder) {
  const query::Engine engine(0, query::FileAccess::On);
  std::vector<std::string> lines;
  const std::map<std::string, Footer> footers = read_footers(engine, folder, [&] {
    if (lines.empty()) lines.push_back(damaged_file(folder));
  });
  if (const auto files = misplaced_files(footers); !files.empty()) {
    const std::string of_other_table = file_of_other_table(folder);
    throw Error(of_other_table.empty() ? base::format("{}; its rows may count twice", misplaced_text(files, folder))
                                       : of_other_table);
  }
  if (!lines.empty()) return lines;  // of a table that the answer does not use
  const std::map<uint64_t, Expected> all_expected = read_expected(engine, folder);
  std::vector<std::string> unmarked;
  for (const auto& [number, attempt] : attempts_of(folder)) {
    const auto known = all_expected.find(number);
    const Expected expected = known == all_expected.end() ? Expected{} : known->second;
    if (!has_marks(folder, attempt, expected, footers))
      for (const auto& [place, file] : attempt.files)
        if (fs::path(file).parent_path().filename() != push::kTraces.name) unmarked.push_back(file);
    const std::string missing = attempt.mark ? missing_of(folder, number, attempt, expected, footers) : "";
    if (missing.empty()) continue;
    if (const std::string traces = traces_of(engine, folder, number); !traces.empty())
      lines.push_back(base::format("incomplete: {}; {}: push these traces again", traces, missing));
  }
  if (const push::Rows traces = unmarked.empty() ? push::Rows{} : unmarked_in(engine, unmarked, folder);
      !traces.rows.empty())
    lines.push_back(
        base::format("not counted: rows of {} trace{} without a commit mark in {}/{} (a push in progress, or lost "
                     "files): {}; push {} again",
                     traces.rows.size(), traces.rows.size() == 1 ? "" : "s", base::printable(folder),
                     push::kTraces.name, trace_names(traces), traces.rows.size() == 1 ? "it" : "them"));
  return lines;
}

std::string foreign_file(const std::string& folder) {
  const std::vector<std::string> files = foreign_files(folder);
  if (files.empty()) return {};
  // Of two files with the same number, the one whose rows do not belong to its name.
  const auto misplaced = misplaced_files(read_footers(query::Engine(0, query::FileAccess::On), folder, [] {}));
  if (!misplaced.empty()) return misplaced_text(misplaced, folder);
  return base::format("{}{} not written by kymo push: move {} out of {}", base::printable(files[0]),
                      files.size() == 1 ? " was" : base::format(" and {} more were", files.size() - 1),
                      files.size() == 1 ? "it" : "them", base::printable(folder));
}

std::string damaged_file(const std::string& folder) {
  const query::Engine engine(0, query::FileAccess::On);
  for (const push::TableSpec* table : push::all_tables()) {
    for (const std::string& file : table_files(folder, *table)) {
      try {
        (void)rows_of(engine, base::format("SELECT max(hash(t)) FROM read_parquet({}) AS t", query::sql_literal(file)));
      } catch (const query::QueryError&) {
        if (::access(file.c_str(), R_OK) != 0) return base::file_error("read", file, errno).what();
        const auto attempt = attempt_in(fs::path(file).filename().string());
        if (!attempt || table == &push::kSchema)
          return base::format("{} is damaged: delete it, the next kymo push writes it again", base::printable(file));
        const std::string traces = traces_of(engine, folder, *attempt);
        return base::format("{} is damaged: delete it, and push its traces again{}{}", base::printable(file),
                            traces.empty() ? "" : ": ", traces);
      }
    }
  }
  return {};
}

}  // namespace kymo::fleet
