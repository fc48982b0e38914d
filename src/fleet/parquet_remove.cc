#include "fleet/parquet_remove.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/atomic_file.h"
#include "base/printable.h"
#include "base/text.h"
#include "fleet/parquet_files.h"
#include "fleet/parquet_store.h"
#include "fleet/parquet_verify.h"
#include "kymo/error.h"
#include "push/trace_file.h"

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

std::string list_of(const std::vector<std::string>& files) {
  std::vector<std::string> literals;
  for (const std::string& file : files) literals.push_back(query::sql_literal(file));
  return base::format("read_parquet([{}])", base::join(literals, ", "));
}

std::vector<uint64_t> numbers_of(const query::Engine& engine, const std::string& statement) {
  std::vector<uint64_t> numbers;
  for (const auto& row : rows_of(engine, statement).rows) numbers.push_back(push::parse_u64(row[0], "number"));
  return numbers;
}

// Writes traces of an attempt again, as another one.
class Copy {
 public:
  Copy(query::Engine& engine, const std::string& folder, const Attempt& from, uint64_t attempt,
       const std::vector<uint64_t>& traces)
      : engine_(engine), folder_(folder), from_(from), attempt_(attempt), traces_(base::join(traces, ", ")) {}

  void write() {
    for (const push::TableSpec* table : push::all_tables())
      if (table != &push::kRowCounts && table != &push::kTraces && table != &push::kSchema) write(*table, "");
    write(push::kRowCounts, hash_rows());
    write(push::kTraces, "");
  }

 private:
  void write(const push::TableSpec& table, const std::string& more) {
    const std::vector<std::string> files = from_.files_of(folder_, table);
    if (files.empty()) return;
    const std::string rows = base::format("FROM {} WHERE trace IN ({})", list_of(files), traces_);
    if (numbers_of(engine_, "SELECT count(*) " + rows).at(0) == 0) return;
    const std::string place = folder_of(folder_, table);
    base::AtomicFile file(base::format("{}/{}", place, file_name(from_.month, attempt_, next_++)));
    engine_.execute(
        base::format("COPY (SELECT * REPLACE (CAST({} AS UBIGINT) AS attempt) {}{}) TO {} (FORMAT parquet, COMPRESSION "
                     "zstd, USE_TMP_FILE false)",
                     attempt_, rows, more, query::sql_literal(file.temporary_path())));
    finish_file(file, place);
    hashes_.push_back({path_in_folder(file.path()), push::trace_number(file.path())});
  }

  // As with_hashes() writes them.
  std::string hash_rows() const {
    std::string rows;
    for (const FileHash& one : hashes_)
      base::format_to(rows,
                      "\nUNION ALL BY NAME SELECT CAST({} AS UBIGINT) AS trace, CAST({} AS UBIGINT) AS attempt, "
                      "min(started) AS started, '' AS job, CAST(-1 AS INTEGER) AS rank, {} AS of_table, "
                      "CAST({} AS UBIGINT) AS row_count FROM {}",
                      kFileRows, attempt_, query::sql_literal(one.file), one.hash,
                      list_of(from_.files_of(folder_, push::kRowCounts)));
    return rows;
  }

  query::Engine& engine_;
  const std::string& folder_;
  const Attempt& from_;
  const uint64_t attempt_;
  const std::string traces_;
  uint64_t next_ = 0;
  std::vector<FileHash> hashes_;
};

// Of the other traces of the attempt, those that count as this attempt wrote them are kept.
void remove_from(query::Engine& engine, const std::string& folder, uint64_t number, uint64_t trace) {
  const auto attempts = attempts_of(folder);
  const auto from = attempts.find(number);
  if (from == attempts.end() || !from->second.mark)
    throw Error(base::format("{} has rows of the attempt {:016x} in a file of another name: move it out of the folder",
                             base::printable(folder_of(folder, push::kTraces)), number));
  const std::vector<uint64_t> kept =
      numbers_of(engine, base::format("SELECT trace FROM {} WHERE trace != {} GROUP BY trace HAVING max(attempt) = {}",
                                      parquet_table(folder, push::kTraces), trace, number));
  if (!kept.empty()) {
    uint64_t copy = number + 1;  // what is pushed meanwhile is newer
    while (attempts.contains(copy) && attempts.at(copy).mark) ++copy;
    if (const auto unfinished = attempts.find(copy); unfinished != attempts.end())
      delete_attempt(folder, unfinished->second);
    Copy(engine, folder, from->second, copy, kept).write();
    const Attempt written = attempts_of(folder)[copy];
    std::string damage = written.missing_count() > 0 ? "a new file was removed" : "";
    if (damage.empty()) damage = damage_of(engine, folder, copy, written);
    if (!damage.empty())
      throw Error(base::format("{}: {}; nothing was removed, try again", base::printable(folder), damage));
  }
  delete_attempt(folder, from->second);
}

}  // namespace

bool remove_trace(query::Engine& engine, const std::string& folder, uint64_t trace) {
  finish_removals(folder);
  // The newest last: an older one counts as soon as the newest is gone.
  const std::vector<uint64_t> attempts =
      numbers_of(engine, base::format("SELECT DISTINCT attempt FROM {} WHERE trace = {} ORDER BY attempt",
                                      parquet_table(folder, push::kTraces), trace));
  for (const uint64_t attempt : attempts) remove_from(engine, folder, attempt, trace);
  return !attempts.empty();
}

}  // namespace kymo::fleet
