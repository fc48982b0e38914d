#include "questions/parquet_check.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <map>
#include <set>

#include "base/bytes.h"
#include "base/file.h"
#include "base/printable.h"
#include "base/text.h"
#include "kymo/error.h"
#include "push/ranks.h"
#include "push/store.h"
#include "push/tables.h"
#include "push/trace_rows.h"
#include "query/session.h"
#include "questions/answers.h"
#include "questions/parquet_files.h"
#include "questions/parquet_tables.h"

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
  std::vector<std::string> count_files = attempt.files_of(folder, push::kRowCounts);
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

namespace {

using RowsOfFiles = std::map<std::string, uint64_t>;  // by path

// The number of rows of all files, by their footers. Files without rows and those that cannot be read are not in it.
RowsOfFiles read_row_numbers(ParquetReader& reader) {
  RowsOfFiles found;
  for (const push::TableSpec* table : push::all_tables()) {
    if (table == &push::kSchema) continue;
    for (std::string files = reader.files_of(*table); !files.empty(); files = reader.files_of(*table)) {
      try {
        const push::Rows rows = rows_of(
            reader.engine(),
            base::format("SELECT file_name, CAST(sum(row_group_num_rows) AS UBIGINT) FROM parquet_metadata({})\n"
                         "WHERE path_in_schema = 'attempt' GROUP BY file_name",
                         files));
        for (const auto& row : rows.rows) found[row[0]] = push::parse_u64(row[1], "rows");
        break;
      } catch (const query::QueryError& problem) {
        if (!reader.find_unreadable()) throw Error(first_line(problem.what()));
      }
    }
  }
  return found;
}

// The rows of a statement about these files, without those that cannot be read.
template <typename Statement>
push::Rows ask_files(ParquetReader& reader, const std::vector<std::string>& files, const Statement& statement) {
  push::Rows all;
  if (files.empty()) return all;
  try {
    return reader.ask(statement(base::format("read_parquet({}, union_by_name = true)", file_list(files))));
  } catch (const Error&) {
    if (files.size() == 1) return all;
  }
  std::set<std::vector<std::string>> found;
  for (const std::string& file : files)
    for (auto& row : ask_files(reader, {file}, statement).rows) found.insert(std::move(row));
  all.rows.assign(found.begin(), found.end());
  return all;
}

// Files of attempts without a mark.
struct Unmarked {
  std::vector<std::string> files;   // of all tables
  std::vector<std::string> counts;  // of attempts that the next push repairs: ParquetStore::find_unmarked()
};

std::string without_mark(const std::string& folder, size_t traces, std::string_view why) {
  return base::format("of {} trace{} without a commit mark in {}/{} ({})", traces, traces == 1 ? "" : "s",
                      base::printable(folder), push::kTraces.name, why);
}

// Traces of which nothing counts.
void add_unmarked(std::vector<std::string>& lines, ParquetReader& reader, const Unmarked& unmarked) {
  const std::string& folder = reader.folder();
  const push::Rows traces = ask_files(reader, unmarked.files, [&](const std::string& files) {
    return base::format(
        "SELECT trace, 'job ' || argMax(job, attempt) FROM {}\n"
        "WHERE trace != {} AND trace NOT IN (SELECT trace FROM {})\nGROUP BY trace ORDER BY trace",
        files, kFileRows, parquet_table(folder, push::kTraces));
  });
  if (traces.rows.empty()) return;
  lines.push_back(base::format("not counted: rows {}: {}; push {} again",
                               without_mark(folder, traces.rows.size(), "a push in progress, or lost files"),
                               trace_names(traces), traces.rows.size() == 1 ? "it" : "them"));
}

// Traces of which an older attempt counts. Only its counts of rows say that an attempt was complete but for the mark.
void add_replaced(std::vector<std::string>& lines, ParquetReader& reader, const Unmarked& unmarked) {
  const std::string& folder = reader.folder();
  const push::Rows traces = ask_files(reader, unmarked.counts, [&](const std::string& files) {
    return base::format(
        "SELECT rows.trace, 'job ' || argMax(job, rows.attempt), any_value(marked_job)\nFROM {} AS rows\n"
        "JOIN (SELECT trace, max(attempt) AS marked, argMax(job, attempt) AS marked_job FROM {} GROUP BY trace) AS "
        "marks\n  ON marks.trace = rows.trace\nWHERE rows.attempt > marked\nGROUP BY rows.trace ORDER BY rows.trace",
        files, parquet_table(folder, push::kTraces));
  });
  if (traces.rows.empty()) return;
  std::set<std::string> jobs;
  for (const auto& row : traces.rows) jobs.insert(base::printable(row[2]));
  lines.push_back(base::format("not counted: what was pushed last {}: {}; push {} again{}",
                               without_mark(folder, traces.rows.size(), "a push that was interrupted, or lost files"),
                               trace_names(traces), traces.rows.size() == 1 ? "it" : "them", counts_until_then(jobs)));
}

// What `row_counts` says about an attempt.
struct Expected {
  uint64_t traces = 0;
  std::map<std::string, uint64_t> rows;  // by table
};
std::map<uint64_t, Expected> read_expected(ParquetReader& reader) {
  std::map<uint64_t, Expected> found;
  if (!has_files(reader.folder(), push::kRowCounts)) return found;
  const push::Rows rows =
      reader.ask(base::format("SELECT attempt, of_table, CAST(sum(row_count) AS UBIGINT), count(DISTINCT trace)\n"
                              "FROM {} WHERE trace != {} GROUP BY attempt, of_table",
                              parquet_table(reader.folder(), push::kRowCounts), kFileRows));
  for (const auto& row : rows.rows) {
    Expected& one = found[push::parse_u64(row[0], "attempt")];
    one.rows[row[1]] = push::parse_u64(row[2], "row_count");
    one.traces = std::max(one.traces, push::parse_u64(row[3], "traces"));
  }
  return found;
}

// Marks decide which rows count, and are small: so their bytes are compared with their hashes.
void leave_out_damaged_marks(ParquetReader& reader) {
  const std::string& folder = reader.folder();
  if (!has_files(folder, push::kRowCounts)) return;
  for (const auto& row : reader
                             .ask(base::format("SELECT of_table, row_count FROM {} WHERE trace = {} AND "
                                               "starts_with(of_table, '{}/')",
                                               parquet_table(folder, push::kRowCounts), kFileRows, push::kTraces.name))
                             .rows) {
    const std::string file = base::format("{}/{}", folder, row[0]);
    try {
      if (push::trace_number(file) != push::parse_u64(row[1], "hash")) reader.leave_out(file);
    } catch (const Error&) {  // it was removed, or cannot be read
    }
  }
}

uint64_t rows_in(const RowsOfFiles& row_numbers, const std::vector<std::string>& files) {
  uint64_t sum = 0;
  for (const std::string& file : files)
    if (const auto found = row_numbers.find(file); found != row_numbers.end()) sum += found->second;
  return sum;
}

// What of an attempt with a mark is missing, for people; empty if nothing is.
std::string missing_of(const std::string& folder, uint64_t number, const Attempt& attempt, const Expected& expected,
                       const RowsOfFiles& row_numbers) {
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
    if (const uint64_t found = rows_in(row_numbers, files); found != wanted->second)
      return base::format("{} {} {} rows instead of {}",
                          files.empty() ? folder_of(folder, *table) : base::printable(files.front()),
                          files.size() > 1 ? "and the next ones have" : "has", found, wanted->second);
  }
  return {};
}

// Marks that were lost: the attempt has no file for them, or the file has other rows than it was written with.
bool has_marks(const std::string& folder, const Attempt& attempt, const Expected& expected,
               const RowsOfFiles& row_numbers) {
  if (!attempt.mark) return false;
  if (expected.rows.empty()) return true;  // an older version wrote no counts
  const auto found = row_numbers.find(attempt.files_of(folder, push::kTraces).front());
  return found != row_numbers.end() && found->second == expected.traces;
}

// The traces whose newest attempt is this one, by name.
std::string traces_of(ParquetReader& reader, uint64_t attempt) {
  return trace_names(
      reader.ask(base::format("SELECT trace, argMax(file, attempt) FROM {} GROUP BY trace HAVING max(attempt) = {}\n"
                              "ORDER BY 2, trace",
                              parquet_table(reader.folder(), push::kTraces), attempt)));
}

// The same for an attempt whose marks cannot be read, by its counts of rows.
std::string counted_traces_of(ParquetReader& reader, uint64_t attempt) {
  const std::string& folder = reader.folder();
  return trace_names(reader.ask(
      base::format("SELECT trace, 'job ' || any_value(job) FROM {0} WHERE attempt = {1} AND trace != {2}\n"
                   "  AND trace NOT IN (SELECT trace FROM {3} WHERE attempt > {1})\nGROUP BY trace ORDER BY trace",
                   parquet_table(folder, push::kRowCounts), attempt, kFileRows, parquet_table(folder, push::kTraces))));
}

std::string unreadable_line(ParquetReader& reader, const std::string& file, const std::string& why) {
  const fs::path path(file);
  const std::string name = path.filename().string(), table = path.parent_path().filename().string();
  if (name == kEmptyFile || (table == push::kSchema.name && is_file_name(name)))
    return base::format("{}: the next kymo push writes it again", why);
  if (!is_file_name(name))
    return base::format("{}, and was not written by kymo push: move it out of {}", why,
                        base::printable(reader.folder()));
  const uint64_t number = attempt_in(name).value_or(0);
  const bool is_mark = table == push::kTraces.name;
  const std::string traces = is_mark ? counted_traces_of(reader, number) : traces_of(reader, number);
  if (!traces.empty()) {
    const bool may_read = ::access(file.c_str(), R_OK) == 0;
    return base::format("{} {}; {}: {}push these traces again{}{}",
                        is_mark ? "not counted: what was pushed last of" : "incomplete:", traces, why,
                        may_read ? "" : "change its mode, or ",
                        is_mark ? "" : ", or remove them with kymo push --remove",
                        may_read ? ", then delete the file" : "");
  }
  const auto attempts = attempts_of(reader.folder());
  const auto attempt = attempts.find(number);
  bool has_counts = false;
  if (attempt != attempts.end())
    for (const std::string& counts : attempt->second.files_of(reader.folder(), push::kRowCounts))
      has_counts |= !reader.is_unreadable(counts);
  if (is_mark && !has_counts)
    return base::format(
        "not counted: the traces of {0}, which are not known: {1}; push all traces again, then delete the file", name,
        why);
  return base::format("{}, and no trace needs it: delete it", why);
}

}  // namespace

std::vector<std::string> unreadable_lines(ParquetReader& reader) {
  constexpr size_t kMostLines = 10;
  std::vector<std::string> lines;
  const std::map<std::string, std::string> files = reader.unreadable();  // reading them may find more
  for (const auto& [file, why] : files) {
    if (lines.size() == kMostLines) {
      lines.push_back(base::format("{} more files in {} cannot be read", files.size() - kMostLines,
                                   base::printable(reader.folder())));
      break;
    }
    lines.push_back(unreadable_line(reader, file, why));
  }
  return lines;
}

std::vector<std::string> incomplete_traces(ParquetReader& reader) {
  const std::string& folder = reader.folder();
  std::vector<std::string> lines;
  // Before their footers: another push may add some meanwhile. What it removes is not the newest attempt of any trace.
  const auto attempts = attempts_of(folder);
  const RowsOfFiles row_numbers = read_row_numbers(reader);
  leave_out_damaged_marks(reader);
  const std::map<uint64_t, Expected> all_expected = read_expected(reader);
  Unmarked unmarked;
  for (const auto& [number, attempt] : attempts) {
    const bool is_reported = std::any_of(attempt.files.begin(), attempt.files.end(),
                                         [&](const auto& file) { return reader.is_unreadable(file.second); });
    if (is_reported && attempt.mark) continue;
    const auto known = all_expected.find(number);
    const Expected expected = known == all_expected.end() ? Expected{} : known->second;
    if (!has_marks(folder, attempt, expected, row_numbers))
      for (const auto& [place, file] : attempt.files) {
        const fs::path table = fs::path(file).parent_path().filename();
        if (table == push::kTraces.name || reader.is_unreadable(file)) continue;
        unmarked.files.push_back(file);
        if (table == push::kRowCounts.name && number < push::unmarked_before()) unmarked.counts.push_back(file);
      }
    const std::string missing = attempt.mark ? missing_of(folder, number, attempt, expected, row_numbers) : "";
    if (missing.empty()) continue;
    if (const std::string traces = traces_of(reader, number); !traces.empty())
      lines.push_back(base::format("incomplete: {}; {}: push these traces again", traces, missing));
  }
  add_unmarked(lines, reader, unmarked);
  add_replaced(lines, reader, unmarked);
  return lines;
}

std::string foreign_file(ParquetReader& reader) {
  const std::string& folder = reader.folder();
  std::vector<std::string> files;
  for (const push::TableSpec* table : push::all_tables())
    for (const std::string& file : table_files(folder, *table))
      if (const std::string name = fs::path(file).filename().string();
          !is_file_name(name) && name != kEmptyFile && reader.has_footer(file))
        files.push_back(file);
  if (files.empty()) return {};
  return base::format("{}{} not written by kymo push: move {} out of {}", base::printable(files[0]),
                      files.size() == 1 ? " was" : base::format(" and {} more were", files.size() - 1),
                      files.size() == 1 ? "it" : "them", base::printable(folder));
}

}  // namespace kymo::fleet
