#include "fleet/parquet_store.h"

#include <ctime>
#include <filesystem>
#include <set>

#include "base/atomic_file.h"
#include "base/bytes.h"
#include "base/file.h"
#include "base/printable.h"
#include "base/text.h"
#include "fleet/parquet_block.h"
#include "fleet/parquet_check.h"
#include "fleet/parquet_columns.h"
#include "fleet/parquet_files.h"
#include "fleet/parquet_remove.h"
#include "fleet/text_name.h"
#include "push/attempt.h"
#include "push/trace_file.h"
#include "query/session.h"

namespace kymo::fleet {
namespace {

namespace fs = std::filesystem;
using push::TableSpec;

// "202611", of the first row.
std::string month_of(const push::Block& block) {
  size_t column = 0;
  while (column < block.table().columns.size() && block.table().columns[column].type != push::ColumnType::Date)
    ++column;
  uint32_t seconds = 0;
  if (column < block.table().columns.size() && block.rows() > 0)
    seconds = base::load<uint32_t>(reinterpret_cast<const std::byte*>(block.fixed(column).data()));
  const time_t time = seconds;
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  return base::format("{:04}{:02}", parts.tm_year + 1900, parts.tm_mon + 1);
}

// DuckDB's errors have several lines; the others repeat the statement.
std::string first_line(std::string_view text) { return base::printable(std::string(text.substr(0, text.find('\n')))); }

// DuckDB does not say which traces that are, and not always which file.
Error unreadable(const std::string& folder, const query::QueryError& problem) {
  std::string cause = foreign_file(folder);
  if (cause.empty()) cause = file_of_other_table(folder);
  if (cause.empty()) cause = damaged_file(folder);
  return Error(base::format("cannot read the files in {}: {}{}{}", base::printable(folder), first_line(problem.what()),
                            cause.empty() ? "" : "; ", cause));
}

class ParquetEvents : public push::EventSink {
 public:
  ParquetEvents(ParquetStore& store, uint64_t attempt) : store_(store), attempt_(attempt) {}
  void add(const push::Block& block) override { store_.insert(block, attempt_); }
  void finish() override {}

 private:
  ParquetStore& store_;
  uint64_t attempt_;
};

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

std::string parquet_files(const std::string& folder, const TableSpec& table) {
  return query::sql_literal(base::format("{}/*{}", folder_of(folder, table), kParquetEnding));
}

std::string parquet_table(const std::string& folder, const TableSpec& table) {
  return base::format("read_parquet({})", parquet_files(folder, table));
}

ParquetStore::ParquetStore(std::string folder) : folder_(std::move(folder)), engine_(0, query::FileAccess::On) {}

ParquetStore::~ParquetStore() { remove_unmarked(); }

std::string ParquetStore::text() const { return base::printable(folder_); }

bool ParquetStore::prepare() {
  claim_folder(folder_);
  bool created = false;
  for (const TableSpec* table : push::all_tables()) {
    make_folder(folder_of(folder_, *table));
    if (has_files(folder_, *table)) continue;
    write(push::Block(*table), 0, std::string(kEmptyFile));
    created = true;
  }
  check_columns();
  check_version();
  return created;
}

void ParquetStore::check_columns() {
  for (const TableSpec* table : push::all_tables()) {
    push::Rows rows;
    try {
      rows = rows_of(engine_, base::format("SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM {})",
                                           parquet_table(folder_, *table)));
    } catch (const query::QueryError& problem) {
      throw unreadable(folder_, problem);
    }
    for (const push::ColumnSpec& column : table->columns) {
      std::string found;
      for (const auto& row : rows.rows)
        if (row[0] == column.name) found = row[1];
      const std::string_view wanted = duckdb_type(column.type);
      if (found == wanted) continue;
      std::string cause = foreign_file(folder_);
      if (cause.empty()) cause = file_of_other_table(folder_);
      throw Error(base::format("{}: the files of {} are not Kymo's: {}; {}", text(), table->name,
                               found.empty() ? base::format("they have no column {}", column.name)
                                             : base::format("their column {} is {} instead of {}", column.name,
                                                            base::printable(found), wanted),
                               cause.empty() ? "use another folder" : cause));
    }
  }
}

void ParquetStore::check_version() {
  const push::Rows rows =
      rows_of(engine_, base::format("SELECT coalesce(max(version), 0) FROM {}", parquet_table(folder_, push::kSchema)));
  const uint64_t version = push::parse_u64(rows.rows.at(0).at(0), "version");
  if (version > push::kSchemaVersion)
    throw Error(base::format("{}: the files have version {}, and this kymo knows version {}: update kymo", text(),
                             version, push::kSchemaVersion));
  if (version == push::kSchemaVersion) return;
  push::Block block(push::kSchema);
  block.number(push::kSchemaVersion);
  block.end_row();
  const uint64_t attempt = push::new_attempt();
  write(block, attempt, file_name(month_of(block), attempt, 0));
}

std::map<uint64_t, push::KnownTrace> ParquetStore::known(const std::vector<uint64_t>& traces) {
  try {
    const push::Rows rows =
        rows_of(engine_, base::format("SELECT trace, argMax(has_events, attempt), argMax(job, attempt), "
                                      "argMax(rank, attempt), max(attempt), argMax(problems, attempt) FROM {} "
                                      "WHERE trace IN ({}) GROUP BY trace",
                                      parquet_table(folder_, push::kTraces), base::join(traces, ", ")));
    std::map<uint64_t, push::KnownTrace> found;
    for (const auto& row : rows.rows) {
      push::KnownTrace& trace = found[push::parse_u64(row[0], "trace")];
      trace = {push::parse_u64(row[1], "events") != 0, row[2], push::parse_i64(row[3], "rank"),
               push::parse_u64(row[4], "attempt")};
      trace.is_damaged = push::parse_u64(row[5], "problems") != 0;
    }
    return found;
  } catch (const query::QueryError& problem) {
    throw unreadable(folder_, problem);
  }
}

void ParquetStore::check_rows(std::map<uint64_t, push::KnownTrace>& traces) {
  if (traces.empty()) return;
  const std::map<uint64_t, Attempt> attempts = attempts_of(folder_);
  std::map<uint64_t, std::string> damages;  // by attempt: many traces have the same one
  for (auto& [number, trace] : traces) {
    const auto its = attempts.find(trace.attempt);
    // Older versions did not write counts, and had other tables.
    trace.lost_rows = its == attempts.end() || its->second.missing_count() > 0 ||
                      its->second.files_of(folder_, push::kRowCounts).empty();
    if (trace.lost_rows) continue;
    const auto [found, is_new] = damages.try_emplace(trace.attempt);
    if (is_new) found->second = damage_of(engine_, folder_, trace.attempt, its->second);
    trace.damage = found->second;
    trace.lost_rows = !trace.damage.empty();
  }
}

void ParquetStore::insert(const push::Block& block, uint64_t attempt) {
  if (attempt != attempt_) {
    remove_unmarked();
    hashes_.clear();
    next_ = 0;
  }
  attempt_ = attempt;
  const std::string name = file_name(month_of(block), attempt, next_++);
  const std::string path = base::format("{}/{}", folder_of(folder_, block.table()), name);
  const bool is_mark = block.table().name == push::kTraces.name;
  if (!is_mark) unmarked_.push_back(path);
  try {
    const bool is_counts = block.table().name == push::kRowCounts.name;
    write(is_counts ? with_hashes(block, hashes_) : block, attempt, name);
    if (!is_counts && !is_mark) hashes_.push_back({path_in_folder(path), push::trace_number(path)});
  } catch (const Error&) {
    std::error_code error;
    // A mark may be there although it is not known to be on disk. Then its rows count.
    if (is_mark && (fs::exists(path, error) || error)) unmarked_.clear();
    remove_unmarked();
    throw;
  }
  if (is_mark) unmarked_.clear();
}

void ParquetStore::remove_unmarked() {
  std::error_code ignored;  // remove_orphans() removes what is left
  for (const std::string& file : unmarked_) fs::remove(file, ignored);
  unmarked_.clear();
}

void ParquetStore::write(const push::Block& block, uint64_t attempt, const std::string& name) {
  const std::string folder = folder_of(folder_, block.table());
  base::AtomicFile file(base::format("{}/{}", folder, name));
  try {
    write_parquet(engine_, block, attempt, file.temporary_path());
  } catch (const query::QueryError& problem) {
    throw Error(base::format("cannot write {}: {}", base::printable(file.path()), first_line(problem.what())));
  }
  finish_file(file, folder);
}

std::unique_ptr<push::EventSink> ParquetStore::events(uint64_t attempt) {
  return std::make_unique<ParquetEvents>(*this, attempt);
}

push::Content ParquetStore::content() {
  push::Content content;
  for (const TableSpec* table : push::all_tables())
    for (const std::string& file : table_files(folder_, *table)) {
      std::error_code removed_just_now;
      const uintmax_t bytes = fs::file_size(file, removed_just_now);
      content[file] = removed_just_now ? 0 : bytes;
    }
  return content;
}

// All rows of a file have the same attempt, which is in its name. The marks are deleted last.
void ParquetStore::remove_orphans(uint64_t before) {
  std::set<uint64_t> live;
  for (const auto& row : rows_of(engine_, base::format("SELECT DISTINCT attempt FROM (SELECT max(attempt) AS attempt "
                                                       "FROM {} GROUP BY trace)",
                                                       parquet_table(folder_, push::kTraces)))
                             .rows)
    live.insert(push::parse_u64(row[0], "attempt"));
  for (const TableSpec* table : push::all_tables()) {
    if (table == &push::kSchema) continue;
    for (const auto& entry : fs::directory_iterator(folder_of(folder_, *table))) {
      const std::string name = entry.path().filename().string();
      const auto attempt = attempt_in(name);
      const bool is_complete = name.ends_with(kParquetEnding);
      if (!attempt || *attempt >= before || (is_complete && live.contains(*attempt))) continue;
      std::error_code error;
      fs::remove(entry.path(), error);
      if (error)
        throw Error(base::format("cannot delete {}: {}", base::printable(entry.path().string()), error.message()));
    }
  }
}

bool ParquetStore::remove(uint64_t trace) {
  try {
    return remove_trace(engine_, folder_, trace);
  } catch (const query::QueryError& problem) {
    throw unreadable(folder_, problem);
  }
}

push::Rows ask_parquet(const std::string& folder, const std::string& statement) {
  refuse_file(folder);
  const bool is_store = has_files(folder, push::kSchema) || has_files(folder, push::kTraces);
  for (const TableSpec* table : {&push::kTraces, &push::kIterations, &push::kOperations}) {
    if (has_files(folder, *table)) continue;
    throw Error(is_store ? base::format("{} was removed: push the traces again, which writes what is missing",
                                        base::printable(folder_of(folder, *table)))
                         : base::format("{0} has no tables: 'kymo push FILE... parquet:{0}' makes them",
                                        base::printable(folder)));
  }
  if (const std::string foreign = foreign_file(folder); !foreign.empty())
    throw Error(base::format("{}; its rows may count twice", foreign));
  try {
    return rows_of(query::Engine(0, query::FileAccess::On), statement);
  } catch (const query::QueryError& problem) {
    throw unreadable(folder, problem);
  }
}

}  // namespace kymo::fleet
