#include "questions/parquet_remove.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <vector>

#include "base/atomic_file.h"
#include "base/printable.h"
#include "base/text.h"
#include "questions/parquet_files.h"
#include "questions/parquet_verify.h"
#include "kymo/error.h"
#include "push/attempt.h"
#include "push/trace_file.h"
#include "query/session.h"

namespace kymo::fleet {
namespace {

namespace fs = std::filesystem;

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

}  // namespace

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

}  // namespace kymo::fleet
