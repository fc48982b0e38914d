#include "questions/parquet_store.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <map>
#include <span>

#include "base/file.h"
#include "base/printable.h"
#include "base/text.h"
#include "kymo/error.h"
#include "query/session.h"
#include "questions/text_name.h"

namespace kymo::fleet {
namespace {

namespace fs = std::filesystem;
using push::ColumnType;

constexpr std::string_view kVersionPrefix = "kymo-";
constexpr std::string_view kUnfinished = "unfinished";
constexpr std::string_view kEmpty = "empty";  // gives tables without rows their columns
constexpr std::chrono::hours kKeptUnfinished{24};
// So many small parts of a day become one. A part that is not small is not written again.
constexpr size_t kPartsOfDay = 32;
constexpr uintmax_t kSmallBytes = 16 << 20;

std::string tables_of(const std::string& folder) {
  return base::format("{}/{}{}", folder, kVersionPrefix, push::kSchemaVersion);
}
std::string file_of(const std::string& part, const push::TableSpec& table) {
  return base::format("{}/{}.parquet", part, table.name);
}

// DuckDB's errors have several lines; the others repeat the statement.
std::string first_line(std::string_view text) { return base::printable(std::string(text.substr(0, text.find('\n')))); }

// Names have any length, and may have line feeds. DuckDB's buffers are a multiple of the longest row.
size_t longest_row(std::string_view csv) {
  size_t longest = 0, begin = 0;
  bool is_quoted = false;
  for (size_t i = 0; i < csv.size(); ++i) {
    is_quoted ^= csv[i] == '"';
    if (csv[i] != '\n' || is_quoted) continue;
    longest = std::max(longest, i + 1 - begin);
    begin = i + 1;
  }
  return longest;
}

void write_file(query::Engine& engine, const std::string& select, const std::string& path) {
  try {
    engine.execute(base::format("COPY ({}) TO {} (FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false)", select,
                                query::sql_literal(path)));
  } catch (const query::QueryError& problem) {
    throw Error(base::format("cannot write {}: {}", base::printable(path), first_line(problem.what())));
  }
}

// Rows as CSV (push::Block).
void write_rows(query::Engine& engine, const push::TableSpec& table, const std::string& csv, const std::string& path) {
  const std::string text = text_of_name(csv);
  size_t written = 0;
  const base::FileDescriptor memory(::memfd_create("kymo", MFD_CLOEXEC));
  if (!memory) throw base::file_error("write", path, errno);
  if (const int problem = base::write_all(memory.get(), std::as_bytes(std::span(text)), written); problem != 0)
    throw base::file_error("write", path, problem);
  std::vector<std::string> columns, values;
  for (const push::ColumnSpec& column : table.columns) {
    columns.push_back(base::format("'{}': '{}'", column.name, push::names_of(column.type).duckdb));
    values.push_back(column.type == ColumnType::Date ? base::format("make_timestamp({0} * 1000000) AS {0}", column.name)
                                                     : query::sql_identifier(std::string(column.name)));
  }
  constexpr size_t kUsualRow = 1 << 20;
  write_file(engine,
             base::format(
                 R"(SELECT {} FROM read_csv('/proc/self/fd/{}', columns = {{{}}}, auto_detect = false, header = false,
  delim = ',', quote = '"', escape = '"', allow_quoted_nulls = false, parallel = false, max_line_size = {}))",
                 base::join(values, ", "), memory.get(), base::join(columns, ", "),
                 std::max(longest_row(text), kUsualRow) + 1),
             path);
}

void make_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw Error(base::format("cannot make the folder {}: {}", base::printable(path), error.message()));
}

void write_to_disk(const std::string& path) {
  const base::FileDescriptor opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!opened || ::fsync(opened.get()) != 0) throw base::file_error("write", path, errno);
}

}  // namespace

const std::string_view kFunctionsOfDuckDb = R"(CREATE OR REPLACE TEMP MACRO intDiv(a, b) AS a // b;
CREATE OR REPLACE TEMP MACRO toUnixTimestamp(t) AS epoch_us(t) // 1000000;
CREATE OR REPLACE TEMP MACRO toDateTime(seconds) AS make_timestamp(seconds::BIGINT * 1000000);
CREATE OR REPLACE TEMP MACRO cityHash64(a) AS hash(a), (a, b) AS hash(a, b), (a, b, c) AS hash(a, b, c), (a, b, c, d) AS hash(a, b, c, d);
CREATE OR REPLACE TEMP MACRO groupArray(x) AS list(x);
CREATE OR REPLACE TEMP MACRO groupUniqArray(x) AS list(DISTINCT x);
CREATE OR REPLACE TEMP MACRO arrayJoin(x) AS unnest(x);
CREATE OR REPLACE TEMP MACRO arrayUniq(x) AS list_unique(x);
)";

ParquetStore::ParquetStore(std::string folder) : folder_(std::move(folder)), engine_(0, query::FileAccess::On) {
  engine_.execute(std::string(kFunctionsOfDuckDb));
}

uint64_t ParquetStore::version() {
  std::error_code error;
  if (fs::exists(tables_of(folder_) + "/" + std::string(kEmpty), error)) return push::kSchemaVersion;
  if (error) throw base::file_error("read", tables_of(folder_), error.value());
  for (auto entry = fs::directory_iterator(folder_, error); !error && entry != fs::end(entry); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    uint64_t version = 0;
    if (name.starts_with(kVersionPrefix))
      std::from_chars(name.data() + kVersionPrefix.size(), name.data() + name.size(), version);
    if (version != 0 && version != push::kSchemaVersion) return version;
    if (version == 0 && name != kUnfinished)
      throw push::Refused(base::format("{} has other files, such as {}, and no tables of Kymo: use a new folder",
                                       base::printable(folder_), base::printable(name)));
  }
  if (error && error != std::errc::no_such_file_or_directory) throw base::file_error("read", folder_, error.value());
  return 0;
}

template <typename Write>
void ParquetStore::publish_as(const std::string& name, uint64_t attempt, Write&& write) {
  const std::string part = base::format("{}/{}/{:016x}", folder_, kUnfinished, attempt);
  const std::string final = base::format("{}/{}", tables_of(folder_), name);
  std::error_code error;
  try {
    make_folder(part);
    write(part);
    // As readable as the folder that it is in, and on disk, because the traces may be deleted after this.
    const fs::perms mode = fs::status(folder_, error).permissions();
    for (const auto& file : fs::directory_iterator(part, error)) {
      fs::permissions(file, mode & static_cast<fs::perms>(0666), error);
      write_to_disk(file.path());
    }
    fs::permissions(part, mode, error);
    write_to_disk(part);
    fs::rename(part, final, error);
    if (error) throw base::file_error("write", final, error.value());
  } catch (const Error&) {
    fs::remove_all(part, error);
    throw;
  }
  write_to_disk(tables_of(folder_));
}

void ParquetStore::prepare() {
  const uint64_t found = version();
  if (found != 0) push::refuse_other_version(found, base::printable(folder_));
  make_folder(folder_ + "/" + std::string(kUnfinished));
  if (found != 0) return;
  make_folder(tables_of(folder_));
  try {
    publish_as(std::string(kEmpty), push::new_attempt(), [&](const std::string& part) {
      const push::SummaryBlocks none;
      for (const push::Block* block : none.all())
        write_rows(engine_, block->table(), "", file_of(part, block->table()));
    });
  } catch (const Error&) {
    if (version() == 0) throw;  // otherwise another process made it now
  }
}

push::KnownTraces ParquetStore::known(const std::vector<uint64_t>& traces, uint32_t from, uint32_t to) {
  return ask_known(parquet_table(folder_, push::kTraces), traces, from, to);
}

void ParquetStore::publish(const push::SummaryBlocks& rows, uint32_t day) {
  const uint64_t attempt = push::new_attempt();
  const std::chrono::year_month_day date{std::chrono::sys_days{std::chrono::days{day}}};
  publish_as(base::format("{:04}{:02}{:02}-{:016x}", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                          static_cast<unsigned>(date.day()), attempt),
             attempt, [&](const std::string& part) {
               for (const push::Block* block : rows.all())
                 if (block->rows() > 0)
                   write_rows(engine_, block->table(), block->encode(attempt), file_of(part, block->table()));
             });
}

// Only what this process may remove is joined. What fails is tried again after the next push.
void ParquetStore::tidy() {
  std::error_code error;
  const auto old = fs::file_time_type::clock::now() - kKeptUnfinished;
  for (const auto& entry : fs::directory_iterator(folder_ + "/" + std::string(kUnfinished), error))
    if (fs::last_write_time(entry, error) < old && !error) fs::remove_all(entry, error);
  std::map<std::string, std::vector<std::string>> small;  // by day
  for (const auto& entry : fs::directory_iterator(tables_of(folder_), error)) {
    const std::string part = entry.path(), name = entry.path().filename();
    uintmax_t bytes = 0;
    for (const auto& file : fs::directory_iterator(part, error)) bytes += fs::file_size(file, error);
    if (name != kEmpty && bytes < kSmallBytes && ::access(part.c_str(), W_OK) == 0)
      small[name.substr(0, name.find('-'))].push_back(part);
  }
  try {
    for (const auto& [day, parts] : small)
      if (parts.size() >= kPartsOfDay) join(day, parts);
  } catch (const Error&) {
  }
}

// Two processes may do this at once: one of them misses a file, or both publish the same traces, of which one counts.
void ParquetStore::join(const std::string& day, const std::vector<std::string>& parts) {
  const uint64_t attempt = push::new_attempt();
  const auto files_of = [&](const push::TableSpec& table) {
    std::vector<std::string> files;
    std::error_code error;
    for (const std::string& part : parts)
      if (fs::exists(file_of(part, table), error)) files.push_back(query::sql_literal(file_of(part, table)));
    return base::join(files, ", ");
  };
  publish_as(base::format("{}-{:016x}", day, attempt), attempt, [&](const std::string& joined) {
    const push::SummaryBlocks none;
    for (const push::Block* block : none.all()) {
      const push::TableSpec& table = block->table();
      if (const std::string files = files_of(table); !files.empty())
        write_file(engine_,
                   base::format(R"(SELECT * REPLACE ({}::UBIGINT AS attempt) FROM read_parquet([{}]) AS part
WHERE (part.trace, part.attempt) IN (SELECT (trace, max(attempt)) FROM read_parquet([{}]) GROUP BY trace) ORDER BY {})",
                                attempt, files, files_of(push::kTraces), table.order),
                   file_of(joined, table));
    }
  });
  std::error_code error;
  for (const std::string& part : parts) fs::remove_all(part, error);
}

std::string parquet_table(const std::string& folder, const push::TableSpec& table) {
  return base::format("read_parquet({}, hive_partitioning = false)",
                      query::sql_literal(file_of(tables_of(folder) + "/*", table)));
}

push::Rows ParquetStore::rows_of(const std::string& statement) {
  query::Result result = query::run_statement(engine_, statement);
  push::Rows rows;
  for (const auto& column : result.columns()) rows.columns.push_back(column.name);
  while (result.next()) {
    auto& row = rows.rows.emplace_back();
    for (size_t i = 0; i < rows.columns.size(); ++i)
      row.push_back(result.is_null(i) ? std::string() : name_of_text(result.text(i)));
  }
  return rows;
}

// Throws kymo::Error if a file of the folder cannot be read.
void ParquetStore::refuse_damaged_file() {
  std::error_code error;
  for (auto entry = fs::recursive_directory_iterator(tables_of(folder_), error); !error && entry != fs::end(entry);
       entry.increment(error)) {
    if (!entry->is_regular_file(error)) continue;
    const std::string file = entry->path();
    try {
      (void)rows_of(base::format("SELECT max(hash(t)) FROM read_parquet({}) AS t", query::sql_literal(file)));
    } catch (const query::QueryError& problem) {
      if (!fs::exists(file, error)) continue;
      throw Error(base::format(
          "cannot read {}: {}; if it is damaged, delete the folder that it is in, and push the traces again",
          base::printable(file), first_line(problem.what())));
    }
  }
}

// DuckDB takes a part that it may not read for one that is not there.
void ParquetStore::refuse_hidden_part() {
  std::error_code error;
  for (const auto& part : fs::directory_iterator(tables_of(folder_), error))
    if (::access(part.path().c_str(), R_OK | X_OK) != 0 && errno == EACCES)
      throw base::file_error("read", part.path(), errno);
}

push::Rows ParquetStore::ask(const std::string& statement) {
  refuse_hidden_part();
  constexpr int kTries = 5;  // somebody may have joined files that the statement had found
  for (int left = kTries;; --left) {
    try {
      return rows_of(statement);
    } catch (const query::QueryError& problem) {
      const bool is_gone = std::string_view(problem.what()).find("No such file") != std::string_view::npos;
      if (is_gone && left > 1) continue;
      refuse_damaged_file();
      throw Error(
          base::format("cannot read the files in {}: {}", base::printable(folder_), first_line(problem.what())));
    }
  }
}

}  // namespace kymo::fleet
