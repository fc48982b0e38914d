#include "query/session.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <mutex>
#include <utility>

#include "base/temporary_file.h"
#include "base/text.h"
#include "kymo/error.h"
#include "query/engine.h"

namespace kymo::query {
namespace {

// The position after the token that starts at `at`: a quoted text, a comment, or one character. npos: it is not
// complete.
size_t after_token(std::string_view text, size_t at) {
  const auto after = [&](std::string_view end, size_t from) {
    const size_t found = text.find(end, from);
    return found == text.npos ? text.npos : found + end.size();
  };
  switch (text[at]) {
    case '\'':
    case '"':
      return after(text.substr(at, 1), at + 1);  // a doubled quote is two texts
    case '-':
      return text.substr(at).starts_with("--") ? after("\n", at) : at + 1;
    case '/':
      return text.substr(at).starts_with("/*") ? after("*/", at + 2) : at + 1;
    case '$': {
      size_t end = at + 1;
      while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_')) ++end;
      if (end == text.size() || text[end] != '$') return at + 1;
      return after(text.substr(at, end + 1 - at), end + 1);
    }
    default:
      return at + 1;
  }
}

bool is_comment(std::string_view text, size_t at) {
  return text.substr(at).starts_with("--") || text.substr(at).starts_with("/*");
}

// Without the white space in front, so that the lines of an error message count from the first line of the statement.
std::string_view without_space(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  return begin == text.npos ? std::string_view() : text.substr(begin);
}

bool has_content(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    if (!is_comment(text, at) && !std::isspace(static_cast<unsigned char>(text[at]))) return true;
    at = after_token(text, at);
  }
  return false;
}

}  // namespace

std::vector<std::string> StatementSplitter::add(std::string_view text) {
  text_ += text;
  std::vector<std::string> statements;
  size_t begin = 0;
  for (size_t at = 0; at < text_.size();) {
    if (text_[at] == ';') {
      const std::string_view statement = without_space(std::string_view(text_).substr(begin, at - begin));
      if (has_content(statement)) statements.emplace_back(statement);
      begin = at + 1;
    }
    at = after_token(text_, at);
  }
  text_.erase(0, begin);
  return statements;
}

std::string StatementSplitter::rest() {
  if (!has_content(text_)) return {};
  return std::string(without_space(std::exchange(text_, {})));
}

bool StatementSplitter::is_empty() const { return !has_content(text_); }

std::vector<std::string> split_statements(std::string_view text) {
  StatementSplitter splitter;
  std::vector<std::string> statements = splitter.add(text);
  if (std::string rest = splitter.rest(); !rest.empty()) statements.push_back(std::move(rest));
  return statements;
}

namespace {

// Opens each trace once.
class TraceCache : public TraceSource {
 public:
  explicit TraceCache(SessionOptions options) : options_(std::move(options)) {}

  LoadedTraces& traces(const std::string& path) override {
    const bool is_only_one = options_.files.size() == 1 && options_.files.front() == path;
    std::shared_ptr<LoadedTraces>& loaded = loaded_[is_only_one ? "" : path];
    if (loaded == nullptr)
      loaded = std::make_shared<LoadedTraces>(path.empty() ? options_.files : std::vector{path}, options_.open);
    return *loaded;
  }

  const SessionOptions& options() const { return options_; }
  const std::map<std::string, std::shared_ptr<LoadedTraces>>& loaded() const { return loaded_; }

 private:
  const SessionOptions options_;
  std::map<std::string, std::shared_ptr<LoadedTraces>> loaded_;
};

// DuckDB reads these itself if a statement names them, before it asks Kymo.
bool is_taken_by_duckdb(const std::string& path) {
  for (const std::string_view ending : {".json", ".jsonl", ".ndjson", ".json.gz", ".csv", ".tsv", ".parquet"})
    if (path.ends_with(ending)) return true;
  return false;
}

// DuckDB accepts this function although access to files is off, and then aborts when the database is closed.
void refuse_logging(std::string sql) {
  std::transform(sql.begin(), sql.end(), sql.begin(), [](unsigned char c) { return std::tolower(c); });
  if (sql.find("enable_logging") != sql.npos)
    throw QueryError("Permission Error: enable_logging is not available, because it could write files");
}

// Without what follows the statement: white space and semicolons.
std::string without_end(const std::string& statement) {
  const size_t end = statement.find_last_not_of(" \t\r\n;");
  return end == std::string::npos ? std::string() : statement.substr(0, end + 1);
}

}  // namespace

struct Session::Impl {
  explicit Impl(SessionOptions options) : cache(std::move(options)) {
    duckdb_api();  // before a file is opened, which may take long
    cache.traces("");
  }

  Engine& engine() {
    const std::lock_guard lock(mutex);
    if (started == nullptr) started = std::make_unique<Engine>(cache, cache.options().memory_limit, FileAccess::Off);
    return *started;
  }

  // Before the first statement that might need them.
  void add_views() {
    if (std::exchange(has_views, true)) return;
    for (const std::string& path : cache.options().files)
      if (is_taken_by_duckdb(path))
        engine().execute(base::format("CREATE OR REPLACE VIEW {} AS SELECT * FROM ranges({})", sql_identifier(path),
                                      sql_literal(path)));
  }

  TraceCache cache;
  std::mutex mutex;  // of `started`, which interrupt() reads
  std::unique_ptr<Engine> started;
  bool has_views = false;
};

Session::Session(SessionOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Session::~Session() = default;

Result Session::run(const std::string& statement) {
  const std::string sql = without_end(statement);
  refuse_logging(sql);
  const auto& files = impl_->cache.options().files;
  if (std::any_of(files.begin(), files.end(), [&](const std::string& path) {
        return is_taken_by_duckdb(path) && sql.find(path) != std::string::npos;
      }))
    impl_->add_views();
  return run_statement(impl_->engine(), sql);
}

void Session::interrupt() noexcept {
  const std::lock_guard lock(impl_->mutex);
  if (impl_->started != nullptr) impl_->started->interrupt();
}

std::vector<std::shared_ptr<LoadedTraces>> Session::traces() const {
  std::vector<std::shared_ptr<LoadedTraces>> all;
  for (const auto& [path, loaded] : impl_->cache.loaded())
    if (loaded != nullptr) all.push_back(loaded);
  return all;
}

void Session::write_parquet(const std::string& table, const std::string& path) {
  const auto& tables = all_tables();
  if (std::none_of(tables.begin(), tables.end(), [&](const Table& one) { return one.name == table; })) {
    std::vector<std::string_view> names;
    for (const Table& one : tables) names.push_back(one.name);
    throw InvalidArgument(base::format("'{}' is not a table; tables: {}", table, base::join(names, ", ")));
  }
  base::AtomicFile file(path);
  Engine engine(impl_->cache, impl_->cache.options().memory_limit, FileAccess::On);
  try {
    engine.execute(
        base::format("COPY (SELECT * FROM {}('')) TO {} (FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false)", table,
                     sql_literal(file.temporary_path())));
  } catch (const Error& error) {
    // DuckDB knows only the temporary file: IO Error: Could not write file "run.parquet.XXXXXX": No space left on
    // device
    std::string text = error.what();
    const size_t at = text.find(file.temporary_path());
    if (at == text.npos) throw;
    throw Error(text.replace(at, file.temporary_path().size(), path));
  }
  file.commit();
}

}  // namespace kymo::query
