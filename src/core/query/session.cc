#include "query/session.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <mutex>

#include "base/atomic_file.h"
#include "base/text.h"
#include "kymo/error.h"
#include "query/engine.h"

namespace kymo::query {
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
