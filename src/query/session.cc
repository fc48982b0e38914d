#include "query/session.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <mutex>

#include "base/atomic_file.h"
#include "base/text.h"
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

std::string sql_identifier(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + "\"";
}

// A prepared statement.
class Prepared {
 public:
  Prepared(const Engine& engine, const std::string& sql) : api_(engine.api()) {
    if (api_.prepare(engine.connection(), sql.c_str(), &statement_) == duckdb::State::Success) return;
    const char* const message = api_.prepare_error(statement_);
    const std::string text = message == nullptr ? "the statement is not valid" : message;
    api_.destroy_prepare(&statement_);
    throw QueryError(text);
  }
  ~Prepared() { api_.destroy_prepare(&statement_); }
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;

  duckdb::Statement get() const { return statement_; }

  duckdb::Result execute() const {
    duckdb::Pending pending = nullptr;
    duckdb::Result result{};
    std::string message;
    if (api_.pending_prepared_streaming(statement_, &pending) == duckdb::State::Error) {
      message = api_.pending_error(pending);
    } else if (api_.execute_pending(pending, &result) == duckdb::State::Error) {
      message = api_.result_error(&result);
      api_.destroy_result(&result);
    }
    api_.destroy_pending(&pending);
    if (!message.empty()) throw QueryError(message);
    return result;
  }

 private:
  const duckdb::Api& api_;
  duckdb::Statement statement_ = nullptr;
};

bool is_nested(duckdb::Type type) {
  return type == duckdb::Type::List || type == duckdb::Type::Struct || type == duckdb::Type::Map ||
         type == duckdb::Type::Union || type == duckdb::Type::Array;
}

// Result shows numbers and text. Dates, lists and so on become text in the statement itself.
class Casts {
 public:
  Casts(const duckdb::Api& api, duckdb::Statement statement) {
    if (api.prepared_statement_type(statement) != duckdb::StatementType::Select) return;
    const uint64_t columns = api.prepared_statement_column_count(statement);
    for (uint64_t i = 0; i < columns; ++i) {
      const duckdb::Type type = api.prepared_statement_column_type(statement, i);
      const std::string column = base::format("#{}", i + 1);
      char* const name = api.prepared_statement_column_name(statement, i);
      shown_.push_back(base::format("{} AS {}",
                                    is_nested(type)  ? base::format("CAST(to_json({}) AS VARCHAR)", column)
                                    : is_shown(type) ? column
                                                     : base::format("CAST({} AS VARCHAR)", column),
                                    sql_identifier(name == nullptr ? "" : name)));
      api.free(name);
      json_.push_back(is_nested(type));
      needed_ |= !is_shown(type);
    }
  }

  bool needed() const { return needed_; }
  std::string around(const std::string& sql) const {
    return base::format("SELECT {} FROM ({}\n)", base::join(shown_, ", "), sql);
  }
  const std::vector<bool>& json() const { return json_; }  // by column

 private:
  std::vector<std::string> shown_;
  std::vector<bool> json_;
  bool needed_ = false;
};

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
  Engine& engine = impl_->engine();
  const Prepared prepared(engine, sql);
  const Casts casts(engine.api(), prepared.get());
  if (!casts.needed()) return Result(engine.api(), prepared.execute(), {});
  return Result(engine.api(), Prepared(engine, casts.around(sql)).execute(), casts.json());
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
  engine.execute(
      base::format("COPY (SELECT * FROM {}('')) TO {} (FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false)", table,
                   sql_literal(file.temporary_path())));
  file.commit();
}

}  // namespace kymo::query
