#include "import/sqlite_file.h"

#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/text.h"
#include "kymo/error.h"

namespace kymo::import {
namespace {

constexpr std::string_view kMagic("SQLite format 3\0", 16);
constexpr size_t kMostTables = 1024, kMostColumns = 256;
constexpr int kLongestValue = 16 << 20;
constexpr uint64_t kBytesPerByte = 16;  // a text may be in several rows, but the file has it once for each
constexpr uint64_t kLeastBytes = 1 << 20;

std::string quoted(std::string_view name) {
  std::string quoted = "\"";
  for (const char c : name) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + "\"";
}

std::string uri_of(const std::string& path) {
  std::string uri = "file:";
  for (const char c : std::filesystem::absolute(path).string()) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' ||
                          c == '.' || c == '_' || c == '-';
    if (is_plain) {
      uri += c;
    } else {
      uri += base::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return uri + "?immutable=1";
}

}  // namespace

bool SqliteFile::has_magic(std::string_view head) { return head.starts_with(kMagic); }

SqliteFile::SqliteFile(const std::string& path) {
  const int outcome = sqlite3_open_v2(uri_of(path).c_str(), &database_,
                                      SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nullptr);
  try {
    if (outcome != SQLITE_OK) throw Error(base::format("SQLite cannot open it ({})", sqlite3_errstr(outcome)));
    std::error_code error;
    const uint64_t size = std::filesystem::file_size(path, error);
    bytes_left_ = error ? 0 : size;
    start();
  } catch (...) {
    sqlite3_close_v2(database_);
    throw;
  }
}

SqliteFile::SqliteFile(InMemory memory) {
  const int outcome = sqlite3_open_v2(":memory:", &database_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  auto* const data = reinterpret_cast<unsigned char*>(const_cast<char*>(memory.bytes.data()));
  const auto size = static_cast<sqlite3_int64>(memory.bytes.size());
  try {
    if (outcome != SQLITE_OK ||
        sqlite3_deserialize(database_, "main", data, size, size, SQLITE_DESERIALIZE_READONLY) != SQLITE_OK)
      throw Error("SQLite cannot read it");
    bytes_left_ = memory.bytes.size();
    start();
  } catch (...) {
    sqlite3_close_v2(database_);
    throw;
  }
}

SqliteFile::~SqliteFile() { sqlite3_close_v2(database_); }

void SqliteFile::start() {
  rows_left_ = bytes_left_ + kLeastBytes;  // a row has at least one byte
  bytes_left_ = bytes_left_ * kBytesPerByte + kLeastBytes;
  sqlite3_db_config(database_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(database_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(database_, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_db_config(database_, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_limit(database_, SQLITE_LIMIT_LENGTH, kLongestValue);
  sqlite3_limit(database_, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_limit(database_, SQLITE_LIMIT_WORKER_THREADS, 0);
  sqlite3_exec(database_, "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0;", nullptr, nullptr, nullptr);

  if (SqliteRows page(*this, prepare("PRAGMA page_size"), {0}); page.next())
    page_bytes_ = static_cast<uint64_t>(std::max<int64_t>(page.number(0).value_or(0), 0));

  // Plain tables only: no views, and no virtual tables.
  sqlite3_stmt* const statement =
      prepare("SELECT name FROM sqlite_schema WHERE type='table' AND sql LIKE 'CREATE TABLE%'");
  if (statement == nullptr) throw Error(base::format("SQLite cannot read it ({})", sqlite3_errmsg(database_)));
  SqliteRows rows(*this, statement, {0});
  while (tables_.size() < kMostTables && rows.next()) tables_.emplace_back(rows.text(0));
}

bool SqliteFile::has_table(std::string_view name) const {
  return std::find(tables_.begin(), tables_.end(), name) != tables_.end();
}

sqlite3_stmt* SqliteFile::prepare(const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(database_, sql.c_str(), static_cast<int>(sql.size()), &statement, nullptr) != SQLITE_OK) {
    if (damage_.empty()) damage_ = sqlite3_errmsg(database_);
    return nullptr;
  }
  return statement;
}

// Not the generated ones, which are expressions.
std::vector<std::string> SqliteFile::columns_of(std::string_view table) {
  std::vector<std::string> columns;
  sqlite3_stmt* const statement = prepare(base::format("PRAGMA table_xinfo({})", quoted(table)));
  if (statement == nullptr) return columns;
  SqliteRows rows(*this, statement, {1, 6});  // name, hidden
  while (columns.size() < kMostColumns && rows.next())
    if (rows.number(1).value_or(1) == 0) columns.emplace_back(rows.text(0));
  return columns;
}

bool SqliteFile::has_column(std::string_view table, std::string_view column) {
  if (!has_table(table)) return false;
  const std::vector<std::string> columns = columns_of(table);
  return std::find(columns.begin(), columns.end(), column) != columns.end();
}

SqliteRows SqliteFile::rows(std::string_view table, const std::vector<std::string_view>& wanted) {
  std::vector<int> places(wanted.size(), -1);
  if (!has_table(table)) return {*this, nullptr, std::move(places)};
  const std::vector<std::string> columns = columns_of(table);
  std::string list;
  int count = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (std::find(columns.begin(), columns.end(), wanted[i]) == columns.end()) continue;
    places[i] = count++;
    list += (list.empty() ? "" : ", ") + quoted(wanted[i]);
  }
  if (list.empty()) list = "NULL";
  return {*this, prepare(base::format("SELECT {} FROM main.{} NOT INDEXED", list, quoted(table))), std::move(places)};
}

bool SqliteFile::may_read(uint64_t bytes) {
  if (rows_left_ == 0 || bytes_left_ < bytes) {
    if (damage_.empty()) damage_ = "its tables are larger than the file";
    return false;
  }
  --rows_left_;
  bytes_left_ -= bytes;
  return true;
}

// SQLite counts the pages that it reads from the file.
void SqliteFile::report_pages() {
  constexpr uint64_t kRowsBetween = 4096;
  if (!on_read_ || ++rows_ % kRowsBetween != 0) return;
  int pages = 0, highest = 0;
  if (sqlite3_db_status(database_, SQLITE_DBSTATUS_CACHE_MISS, &pages, &highest, 1) == SQLITE_OK && pages > 0)
    on_read_(static_cast<uint64_t>(pages) * page_bytes_);
}

SqliteRows::SqliteRows(SqliteRows&& other) noexcept
    : file_(other.file_), statement_(std::exchange(other.statement_, nullptr)), places_(std::move(other.places_)) {}

SqliteRows::~SqliteRows() { sqlite3_finalize(statement_); }

bool SqliteRows::next() {
  if (statement_ == nullptr) return false;
  const int outcome = sqlite3_step(statement_);
  if (outcome != SQLITE_ROW) {
    if (outcome != SQLITE_DONE && file_.damage_.empty()) file_.damage_ = sqlite3_errmsg(file_.database_);
    return false;
  }
  file_.report_pages();
  uint64_t bytes = 0;
  for (int i = 0; i < sqlite3_data_count(statement_); ++i) {
    const int type = sqlite3_column_type(statement_, i);
    if (type == SQLITE_TEXT || type == SQLITE_BLOB) bytes += static_cast<uint64_t>(sqlite3_column_bytes(statement_, i));
  }
  return file_.may_read(bytes);
}

int SqliteRows::place_of(size_t column) const { return places_[column]; }

std::optional<int64_t> SqliteRows::number(size_t column) const {
  const int place = place_of(column);
  if (place < 0 || sqlite3_column_type(statement_, place) != SQLITE_INTEGER) return std::nullopt;
  return sqlite3_column_int64(statement_, place);
}

std::optional<double> SqliteRows::real(size_t column) const {
  const int place = place_of(column);
  if (place < 0 || sqlite3_column_type(statement_, place) != SQLITE_FLOAT) return std::nullopt;
  return sqlite3_column_double(statement_, place);
}

std::string_view SqliteRows::text(size_t column) const {
  const int place = place_of(column);
  if (place < 0 || sqlite3_column_type(statement_, place) != SQLITE_TEXT) return {};
  const auto* const text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, place));
  return text == nullptr ? std::string_view()
                         : std::string_view(text, static_cast<size_t>(sqlite3_column_bytes(statement_, place)));
}

}  // namespace kymo::import
