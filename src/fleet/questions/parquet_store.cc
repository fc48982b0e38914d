#include "questions/parquet_store.h"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/file.h"
#include "base/printable.h"
#include "base/temporary_file.h"
#include "base/text.h"
#include "kymo/error.h"
#include "push/ranks.h"
#include "push/store.h"
#include "query/session.h"
#include "questions/parquet_check.h"
#include "questions/parquet_files.h"
#include "questions/parquet_tables.h"

namespace kymo::fleet {
namespace {

namespace fs = std::filesystem;
using push::TableSpec;

void delete_file(const std::string& file) {
  std::error_code error;
  fs::remove(file, error);
  if (error) throw Error(base::format("cannot delete {}: {}", base::printable(file), error.message()));
}

// A mark that was removed, and files of its attempt may still be there.
constexpr std::string_view kRemovedEnding = ".removed";

// The marks first: without them the rows do not count. They stay under another name until the others are deleted.
void delete_attempt(const std::string& folder, const Attempt& attempt) {
  const std::vector<std::string> marks = attempt.files_of(folder, push::kTraces);
  for (const std::string& mark : marks) {
    std::error_code error;
    fs::rename(mark, mark + std::string(kRemovedEnding), error);
    if (error) throw Error(base::format("cannot rename {}: {}", base::printable(mark), error.message()));
  }
  for (const auto& [number, file] : attempt.files)
    if (std::find(marks.begin(), marks.end(), file) == marks.end()) delete_file(file);
  for (const std::string& mark : marks) delete_file(mark + std::string(kRemovedEnding));
}

// Of a removal that was interrupted.
void finish_removals(const std::string& folder) {
  std::vector<std::string> removed;
  for (const auto& entry : fs::directory_iterator(folder_of(folder, push::kTraces)))
    if (entry.path().extension() == kRemovedEnding) removed.push_back(entry.path().string());
  for (const std::string& mark : removed) {
    const auto attempt = attempt_in(fs::path(mark).filename().string());
    if (!attempt) continue;
    const auto attempts = attempts_of(folder);
    if (const auto rest = attempts.find(*attempt); rest != attempts.end()) delete_attempt(folder, rest->second);
    delete_file(mark);
  }
}

std::vector<uint64_t> numbers_of(ParquetReader& reader, const std::string& statement) {
  std::vector<uint64_t> numbers;
  for (const auto& row : reader.ask(statement).rows) numbers.push_back(push::parse_u64(row[0], "number"));
  return numbers;
}

// Writes traces of an attempt again, as another one, as far as they can be read.
class Copy {
 public:
  Copy(ParquetReader& reader, const Attempt& from, uint64_t attempt, const std::vector<uint64_t>& traces)
      : reader_(reader), from_(from), attempt_(attempt), traces_(base::join(traces, ", ")) {}

  // Returns how many files are missing in it.
  uint64_t write() {
    next_ = from_.missing_count();
    for (const auto& [number, file] : from_.files) next_ += reader_.is_unreadable(file) ? 1 : 0;
    const uint64_t gap = next_;
    for (const push::TableSpec* table : push::all_tables())
      if (table != &push::kRowCounts && table != &push::kTraces && table != &push::kSchema)
        if (const auto file = make(*table, next_, "")) next_ += finish(*file);
    // The mark is made before the counts, which have its hash, and appears after them.
    const bool has_counts = !readable(push::kRowCounts).empty();
    const auto mark = make(push::kTraces, next_ + (has_counts ? 1 : 0), "");
    if (!mark)
      throw Error(base::format("{} is damaged: push the other traces of this push again, then remove this one",
                               base::printable(from_.files_of(reader_.folder(), push::kTraces).front())));
    add_hash(*mark);
    if (const auto counts = make(push::kRowCounts, next_, hash_rows())) finish(*counts);
    finish_file(*mark, folder_of(reader_.folder(), push::kTraces));
    return gap;
  }

 private:
  std::vector<std::string> readable(const push::TableSpec& table) const {
    std::vector<std::string> files = from_.files_of(reader_.folder(), table);
    std::erase_if(files, [&](const std::string& file) { return reader_.is_unreadable(file); });
    return files;
  }

  // A file that is not complete yet; nothing if there are no rows for it. `more` is SQL for further rows.
  std::unique_ptr<base::AtomicFile> make(const push::TableSpec& table, uint64_t number, const std::string& more) {
    const std::vector<std::string> files = readable(table);
    if (files.empty()) return nullptr;
    const std::string rows = base::format("FROM read_parquet({}) WHERE trace IN ({})", file_list(files), traces_);
    if (numbers_of(reader_, "SELECT count(*) " + rows).at(0) == 0) return nullptr;
    auto file = std::make_unique<base::AtomicFile>(
        base::format("{}/{}", folder_of(reader_.folder(), table), file_name(from_.month, attempt_, number)));
    reader_.engine().execute(
        base::format("COPY (SELECT * REPLACE (CAST({} AS UBIGINT) AS attempt) {}{}) TO {} (FORMAT parquet, COMPRESSION "
                     "zstd, USE_TMP_FILE false)",
                     attempt_, rows, more, query::sql_literal(file->temporary_path())));
    return file;
  }

  void add_hash(const base::AtomicFile& file) {
    hashes_.push_back({path_in_folder(file.path()), push::trace_number(file.temporary_path())});
  }

  uint64_t finish(base::AtomicFile& file) {
    add_hash(file);
    finish_file(file, fs::path(file.path()).parent_path().string());
    return 1;
  }

  // As with_hashes() writes them.
  std::string hash_rows() const {
    std::string rows;
    for (const FileHash& one : hashes_)
      base::format_to(rows,
                      "\nUNION ALL BY NAME SELECT CAST({} AS UBIGINT) AS trace, CAST({} AS UBIGINT) AS attempt, "
                      "min(started) AS started, '' AS job, CAST(-1 AS INTEGER) AS rank, {} AS of_table, "
                      "CAST({} AS UBIGINT) AS row_count FROM read_parquet({})",
                      kFileRows, attempt_, query::sql_literal(one.file), one.hash,
                      file_list(readable(push::kRowCounts)));
    return rows;
  }

  ParquetReader& reader_;
  const Attempt& from_;
  const uint64_t attempt_;
  const std::string traces_;
  uint64_t next_ = 0;
  std::vector<FileHash> hashes_;
};

// A copy of wrong values would look as if they were right, so files with other bytes than were written are left out. Of
// those without a hash, damages are known only when they are read.
uint64_t write_copy(ParquetReader& reader, const Attempt& from, uint64_t attempt, const std::vector<uint64_t>& traces) {
  for (const std::string& file : changed_files(reader.engine(), reader.folder(), from)) reader.leave_out(file);
  for (;;) {
    try {
      return Copy(reader, from, attempt, traces).write();
    } catch (const query::QueryError& problem) {
      if (!reader.find_unreadable())
        throw Error(
            base::format("cannot copy files in {}: {}", base::printable(reader.folder()), first_line(problem.what())));
    }
    const auto attempts = attempts_of(reader.folder());
    if (const auto unfinished = attempts.find(attempt); unfinished != attempts.end())
      delete_attempt(reader.folder(), unfinished->second);
  }
}

// Of the other traces of the attempt, those that count as this attempt wrote them are kept.
void remove_from(ParquetReader& reader, uint64_t number, uint64_t trace) {
  const std::string& folder = reader.folder();
  const auto attempts = attempts_of(folder);
  const auto from = attempts.find(number);
  if (from == attempts.end() || !from->second.mark)
    throw Error(base::format("{} has rows of the attempt {:016x} in a file of another name: move it out of the folder",
                             base::printable(folder_of(folder, push::kTraces)), number));
  const std::vector<uint64_t> kept =
      numbers_of(reader, base::format("SELECT trace FROM {} WHERE trace != {} GROUP BY trace HAVING max(attempt) = {}",
                                      parquet_table(folder, push::kTraces), trace, number));
  if (!kept.empty()) {
    uint64_t copy = number + 1;  // what is pushed meanwhile is newer
    while (attempts.contains(copy) && attempts.at(copy).mark) ++copy;
    if (const auto unfinished = attempts.find(copy); unfinished != attempts.end())
      delete_attempt(folder, unfinished->second);
    const uint64_t gap = write_copy(reader, from->second, copy, kept);
    const Attempt written = attempts_of(folder)[copy];
    std::string damage = written.missing_count() != gap ? "a new file was removed" : "";
    if (damage.empty() && !changed_files(reader.engine(), folder, written).empty())
      damage = "the new files have other bytes than were written";
    if (!damage.empty())
      throw Error(base::format("{}: {}; nothing was removed, try again", base::printable(folder), damage));
  }
  delete_attempt(folder, from->second);
}

// Leaves out the rows of a trace in a file of an attempt without a mark. Returns whether there were some.
bool remove_rows(ParquetReader& reader, const std::string& file, uint64_t trace) {
  const std::string table = base::format("read_parquet({})", file_list({file}));
  try {
    const push::Rows rows =
        rows_of(reader.engine(),
                base::format("SELECT count(*) FILTER (trace = {0}), count(*) FILTER (trace NOT IN ({0}, {1}))\n"
                             "FROM {2}",
                             trace, kFileRows, table));
    if (rows.rows.at(0).at(0) == "0") return false;
    if (rows.rows.at(0).at(1) == "0") {
      delete_file(file);
      return true;
    }
    base::AtomicFile rest(file);
    reader.engine().execute(
        base::format("COPY (SELECT * FROM {} WHERE trace != {}) TO {} (FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE "
                     "false)",
                     table, trace, query::sql_literal(rest.temporary_path())));
    finish_file(rest, fs::path(file).parent_path().string());
    return true;
  } catch (const query::QueryError&) {
    return false;  // it cannot be read, or was removed just now
  }
}

// Of attempts that were interrupted, or lost their mark. A push in progress looks the same for some time.
bool remove_unmarked(ParquetReader& reader, uint64_t trace) {
  bool was_there = false;
  for (const auto& [number, attempt] : attempts_of(reader.folder())) {
    if (attempt.mark || number >= push::unmarked_before()) continue;
    for (const auto& [place, file] : attempt.files) was_there |= remove_rows(reader, file, trace);
  }
  return was_there;
}

// Removes one trace from a folder of Parquet files.
//
// A file has the rows of up to 64 traces and is never changed. So the other traces of the attempt are written again, as
// the attempt with the next number, and then the files of the old one are deleted, its mark first. Whenever this is
// interrupted, each of the other traces counts once, and the same call continues. What cannot be read, or is missing,
// is missing in the copy too, and leaves a gap in the numbers of its files: so it is still noticed.
//
// False if the folder has no mark of it that can be read. Throws kymo::Error: then no other trace lost anything.
bool remove_trace(ParquetReader& reader, uint64_t trace) {
  const std::string& folder = reader.folder();
  finish_removals(folder);
  const bool was_unmarked = remove_unmarked(reader, trace);
  // The newest last: an older one counts as soon as the newest is gone.
  const std::vector<uint64_t> attempts =
      numbers_of(reader, base::format("SELECT DISTINCT attempt FROM {} WHERE trace = {} ORDER BY attempt",
                                      parquet_table(folder, push::kTraces), trace));
  for (const uint64_t attempt : attempts) remove_from(reader, attempt, trace);
  return was_unmarked || !attempts.empty();
}

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
