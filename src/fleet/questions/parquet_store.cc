#include "questions/parquet_store.h"

#include <ctime>
#include <filesystem>
#include <utility>

#include "base/atomic_file.h"
#include "base/bytes.h"
#include "base/file.h"
#include "base/printable.h"
#include "base/text.h"
#include "questions/parquet_block.h"
#include "questions/parquet_check.h"
#include "questions/parquet_files.h"
#include "questions/parquet_remove.h"
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

push::KnownTrace known_trace(const std::vector<std::string>& row) {
  push::KnownTrace trace{push::parse_u64(row[1], "events") != 0, row[2], push::parse_i64(row[3], "rank"),
                         push::parse_u64(row[4], "attempt")};
  trace.is_damaged = push::parse_u64(row[5], "problems") != 0;
  return trace;
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

ParquetStore::ParquetStore(std::string folder, std::function<void(const std::string& text)> warn)
    : folder_(std::move(folder)), reader_(folder_), warn_(std::move(warn)) {
  (void)reader_.engine();
}

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
  write_again();
  warn_of_unreadable();
  return created;
}

void ParquetStore::check_columns() {
  for (const TableSpec* table : push::all_tables()) {
    const push::Rows rows = reader_.ask(base::format("SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM {})",
                                                     parquet_table(folder_, *table)));
    for (const push::ColumnSpec& column : table->columns) {
      std::string found;
      for (const auto& row : rows.rows)
        if (row[0] == column.name) found = row[1];
      const std::string_view wanted = duckdb_type(column.type);
      if (found == wanted) continue;
      const std::string cause = foreign_file(reader_);
      if (cause.empty() && reader_.find_unreadable()) return check_columns();
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
      reader_.ask(base::format("SELECT coalesce(max(version), 0) FROM {}", parquet_table(folder_, push::kSchema)));
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

// Files without rows of traces that cannot be read. The schema has just got a new one if it needed that.
void ParquetStore::write_again() {
  for (const TableSpec* table : push::all_tables()) {
    const std::string empty = base::format("{}/{}", folder_of(folder_, *table), kEmptyFile);
    if (std::error_code ignored; !fs::exists(empty, ignored) || reader_.has_footer(empty)) continue;
    write(push::Block(*table), 0, std::string(kEmptyFile));
    reader_.forget(empty);
  }
  for (const std::string& file : table_files(folder_, push::kSchema)) {
    if (!reader_.is_unreadable(file) || !is_file_name(fs::path(file).filename().string())) continue;
    std::error_code ignored;
    if (fs::remove(file, ignored)) reader_.forget(file);
  }
}

std::map<uint64_t, push::KnownTrace> ParquetStore::known(const std::vector<uint64_t>& traces) {
  const push::Rows rows =
      reader_.ask(base::format("SELECT trace, argMax(has_events, attempt), argMax(job, attempt), "
                               "argMax(rank, attempt), max(attempt), argMax(problems, attempt) FROM {} "
                               "WHERE trace IN ({}) GROUP BY trace",
                               parquet_table(folder_, push::kTraces), base::join(traces, ", ")));
  std::map<uint64_t, push::KnownTrace> found;
  for (const auto& row : rows.rows) found[push::parse_u64(row[0], "trace")] = known_trace(row);
  add_with_unreadable_marks(traces, found);
  warn_of_unreadable();
  return found;
}

// Their counts of rows say which traces these are, and what was given for them.
void ParquetStore::add_with_unreadable_marks(const std::vector<uint64_t>& traces,
                                             std::map<uint64_t, push::KnownTrace>& found) {
  std::vector<uint64_t> attempts;
  for (const std::string& file : table_files(folder_, push::kTraces))
    if (const auto attempt = attempt_in(fs::path(file).filename().string()); attempt && reader_.is_unreadable(file))
      attempts.push_back(*attempt);
  if (attempts.empty()) return;
  const push::Rows rows = reader_.ask(
      base::format("SELECT trace, CAST(max(of_table = '{}') AS INTEGER), argMax(job, attempt), argMax(rank, attempt), "
                   "max(attempt), 0 FROM {} WHERE trace IN ({}) AND attempt IN ({}) GROUP BY trace",
                   push::kEvents.name, parquet_table(folder_, push::kRowCounts), base::join(traces, ", "),
                   base::join(attempts, ", ")));
  for (const auto& row : rows.rows) {
    const push::KnownTrace trace = known_trace(row);
    push::KnownTrace& known = found[push::parse_u64(row[0], "trace")];
    if (trace.attempt > known.attempt) known = trace;
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
    if (is_new) found->second = damage_of(reader_.engine(), folder_, trace.attempt, its->second);
    trace.damage = found->second;
    trace.lost_rows = !trace.damage.empty();
  }
  find_unmarked(attempts, traces);
}

void ParquetStore::find_unmarked(const std::map<uint64_t, Attempt>& attempts,
                                 std::map<uint64_t, push::KnownTrace>& traces) {
  std::vector<std::string> files;
  for (const auto& [number, attempt] : attempts) {
    if (attempt.mark || number >= push::unmarked_before()) continue;
    for (const std::string& file : attempt.files_of(folder_, push::kRowCounts))
      if (!reader_.is_unreadable(file)) files.push_back(file);
  }
  if (files.empty()) return;
  const push::Rows rows = reader_.ask(
      base::format("SELECT trace, CAST(max(of_table = '{}') AS INTEGER), argMax(job, attempt), argMax(rank, attempt), "
                   "max(attempt), 0 FROM read_parquet({}) GROUP BY trace",
                   push::kEvents.name, file_list(files)));
  for (const auto& row : rows.rows) {
    const auto known = traces.find(push::parse_u64(row[0], "trace"));
    push::KnownTrace newest = known_trace(row);
    if (known == traces.end() || newest.attempt <= known->second.attempt) continue;
    newest.has_events |= known->second.has_events;
    newest.lost_rows = true;
    known->second = newest;
  }
}

void ParquetStore::insert(const push::Block& block, uint64_t attempt) {
  if (attempt != attempt_) {
    remove_unmarked();
    hashes_.clear();
    row_counts_.reset();
    next_ = 0;
  }
  attempt_ = attempt;
  if (block.table().name == push::kRowCounts.name)
    row_counts_ = block;
  else if (block.table().name == push::kTraces.name)
    write_mark(block, attempt);
  else
    write_data(block, attempt);
}

void ParquetStore::write_data(const push::Block& block, uint64_t attempt) {
  const std::string name = file_name(month_of(block), attempt, next_++);
  const std::string path = base::format("{}/{}", folder_of(folder_, block.table()), name);
  unmarked_.push_back(path);
  try {
    write(block, attempt, name);
    hashes_.push_back({path_in_folder(path), push::trace_number(path)});
  } catch (const Error&) {
    remove_unmarked();
    throw;
  }
}

// The mark is made first, because the counts have its hash, and appears last.
void ParquetStore::write_mark(const push::Block& block, uint64_t attempt) {
  const std::string folder = folder_of(folder_, push::kTraces), month = month_of(block);
  const uint64_t counts_number = next_;
  if (row_counts_) ++next_;
  base::AtomicFile mark(base::format("{}/{}", folder, file_name(month, attempt, next_++)));
  try {
    fill(mark, block, attempt);
    if (row_counts_) {
      hashes_.push_back({path_in_folder(mark.path()), push::trace_number(mark.temporary_path())});
      const std::string name = file_name(month, attempt, counts_number);
      unmarked_.push_back(base::format("{}/{}", folder_of(folder_, push::kRowCounts), name));
      write(with_hashes(*std::exchange(row_counts_, std::nullopt), hashes_), attempt, name);
    }
    finish_file(mark, folder);
  } catch (const Error&) {
    std::error_code error;
    // A mark may be there although it is not known to be on disk. Then its rows count.
    if (fs::exists(mark.path(), error) || error) unmarked_.clear();
    remove_unmarked();
    throw;
  }
  unmarked_.clear();
}

void ParquetStore::remove_unmarked() {
  std::error_code ignored;  // remove_orphans() removes what is left
  for (const std::string& file : unmarked_) fs::remove(file, ignored);
  unmarked_.clear();
}

void ParquetStore::fill(base::AtomicFile& file, const push::Block& block, uint64_t attempt) {
  try {
    write_parquet(reader_.engine(), block, attempt, file.temporary_path());
  } catch (const query::QueryError& problem) {
    throw Error(base::format("cannot write {}: {}", base::printable(file.path()), first_line(problem.what())));
  }
}

void ParquetStore::write(const push::Block& block, uint64_t attempt, const std::string& name) {
  const std::string folder = folder_of(folder_, block.table());
  base::AtomicFile file(base::format("{}/{}", folder, name));
  fill(file, block, attempt);
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

void ParquetStore::warn_of_unreadable() {
  bool has_new = false;
  for (const auto& [file, why] : reader_.unreadable()) has_new |= warned_.insert(file).second;
  if (!has_new || !warn_) return;
  for (const std::string& line : unreadable_lines(reader_)) warn_(line);
}

// All rows of a file have the same attempt, which is in its name. The marks are deleted last. What an attempt is worth
// whose marks cannot be read is not known.
uint64_t ParquetStore::remove_orphans(uint64_t before) {
  std::set<uint64_t> live;
  for (const auto& row : reader_
                             .ask(base::format("SELECT DISTINCT attempt FROM (SELECT max(attempt) AS attempt "
                                               "FROM {} GROUP BY trace)",
                                               parquet_table(folder_, push::kTraces)))
                             .rows)
    live.insert(push::parse_u64(row[0], "attempt"));
  for (const std::string& file : table_files(folder_, push::kTraces))
    if (const auto attempt = attempt_in(fs::path(file).filename().string()); attempt && reader_.is_unreadable(file))
      live.insert(*attempt);
  std::set<uint64_t> removed;
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
      removed.insert(*attempt);
    }
  }
  warn_of_unreadable();
  return removed.size();
}

bool ParquetStore::remove(uint64_t trace) {
  const bool was_there = remove_trace(reader_, trace);
  warn_of_unreadable();
  return was_there;
}

push::Rows ask_parquet(ParquetReader& reader, const std::string& statement) {
  const std::string& folder = reader.folder();
  refuse_file(folder);
  const bool is_store = has_files(folder, push::kSchema) || has_files(folder, push::kTraces);
  for (const TableSpec* table : {&push::kTraces, &push::kIterations, &push::kOperations}) {
    if (has_files(folder, *table)) continue;
    if (is_store)
      throw Error(base::format("{} was removed: push the traces again, which writes what is missing",
                               base::printable(folder_of(folder, *table))));
    if (const std::string other = other_file(folder); !other.empty())
      throw Error(base::format("{} has no tables, and other files, such as {}: give the folder that kymo push wrote to",
                               base::printable(folder), base::printable(other)));
    throw Error(base::format("{0} has no tables: 'kymo push FILE... parquet:{0}' makes them", base::printable(folder)));
  }
  if (const std::string foreign = foreign_file(reader); !foreign.empty())
    throw Error(base::format("{}; its rows may count twice", foreign));
  return reader.ask(statement);
}

}  // namespace kymo::fleet
