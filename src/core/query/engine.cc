#include "query/engine.h"

#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/text.h"
#include "query/session.h"
#include "query/table.h"

namespace kymo::query {
namespace {

uint64_t half_of_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(page) / 2 : uint64_t{1} << 30;
}

// `FROM ranges` becomes ranges(''), and `FROM 'run.kymo'` becomes ranges('run.kymo').
void replace_name(duckdb::ReplacementInfo info, const char* name, void*) {
  const duckdb::Api& api = duckdb_api();
  const char* function = nullptr;
  const char* parameter = "";
  for (const Table& table : all_tables())
    if (table.name == name) function = name;
  std::error_code ignored;
  if (function == nullptr && std::filesystem::is_regular_file(name, ignored)) {
    function = "ranges";
    parameter = name;
  }
  if (function == nullptr) return;  // not ours
  duckdb::Value value = api.create_varchar(parameter);
  api.replacement_scan_set_function_name(info, function);
  api.replacement_scan_add_parameter(info, value);
  api.destroy_value(&value);
}

}  // namespace

std::string sql_literal(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted.append(c == '\'' ? 2 : 1, c);
  return quoted + "'";
}

Engine::Engine(TraceSource& source, uint64_t memory_limit, FileAccess access) : api_(duckdb_api()) {
  open(memory_limit, access);
  register_tables(source);
}

Engine::Engine(uint64_t memory_limit, FileAccess access) : api_(duckdb_api()) { open(memory_limit, access); }

Engine::~Engine() {
  if (connection_ != nullptr) api_.disconnect(&connection_);
  if (database_ != nullptr) api_.close(&database_);
}

void Engine::open(uint64_t memory_limit, FileAccess access) {
  duckdb::Config config = nullptr;
  api_.create_config(&config);
  std::string failed;
  const auto set = [&](const char* name, const std::string& value) {
    if (api_.set_config(config, name, value.c_str()) == duckdb::State::Error) failed = name;
  };
  set("memory_limit", base::format("{}B", memory_limit != 0 ? memory_limit : half_of_memory()));
  set("temp_directory", "");
  set("autoinstall_known_extensions", "false");
  set("autoload_known_extensions", "false");
  set("preserve_insertion_order", "false");  // otherwise one thread would read a whole table
  if (access == FileAccess::Off) {
    set("enable_external_access", "false");
    set("lock_configuration", "true");
  }
  char* error = nullptr;
  const bool opened = failed.empty() && api_.open_ext(":memory:", &database_, config, &error) == duckdb::State::Success;
  api_.destroy_config(&config);
  if (!failed.empty()) throw Error(base::format("DuckDB {} has no option {}", api_.library_version(), failed));
  if (!opened) {
    const std::string reason = error == nullptr ? "unknown error" : error;
    api_.free(error);
    throw Error(base::format("cannot start DuckDB: {}", reason));
  }
  if (api_.connect(database_, &connection_) == duckdb::State::Error) {
    api_.close(&database_);
    throw Error("cannot connect to DuckDB");
  }
}

void Engine::register_tables(TraceSource& source) {
  for (const Table& table : all_tables()) register_table(api_, connection_, table, source);
  api_.add_replacement_scan(database_, replace_name, nullptr, nullptr);
}

void Engine::execute(const std::string& sql) {
  duckdb::Result result{};
  const bool failed = api_.query(connection_, sql.c_str(), &result) == duckdb::State::Error;
  const std::string message = failed ? api_.result_error(&result) : "";
  api_.destroy_result(&result);
  if (failed) throw QueryError(message);
}

namespace {

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

// Result shows numbers and text. Large numbers, dates, lists and so on become text in the statement itself.
class Casts {
 public:
  Casts(const duckdb::Api& api, duckdb::Statement statement) {
    if (api.prepared_statement_type(statement) != duckdb::StatementType::Select) return;
    const uint64_t columns = api.prepared_statement_column_count(statement);
    for (uint64_t i = 0; i < columns; ++i) {
      const duckdb::Type type = api.prepared_statement_column_type(statement, i);
      kinds_.push_back(kind_of(type));
      const std::string column = base::format("#{}", i + 1);
      char* const name = api.prepared_statement_column_name(statement, i);
      shown_.push_back(base::format("{} AS {}",
                                    kinds_.back() == CellKind::Json
                                        ? base::format("CAST(to_json({}) AS VARCHAR)", column)
                                    : is_shown(type) ? column
                                                     : base::format("CAST({} AS VARCHAR)", column),
                                    sql_identifier(name == nullptr ? "" : name)));
      api.free(name);
      needed_ |= !is_shown(type);
    }
  }

  bool needed() const { return needed_; }
  std::string around(const std::string& sql) const {
    return base::format("SELECT {} FROM ({}\n)", base::join(shown_, ", "), sql);
  }
  const std::vector<CellKind>& kinds() const { return kinds_; }  // by column

 private:
  std::vector<std::string> shown_;
  std::vector<CellKind> kinds_;
  bool needed_ = false;
};

}  // namespace

std::string sql_identifier(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + "\"";
}

Result run_statement(const Engine& engine, const std::string& sql) {
  const Prepared prepared(engine, sql);
  const Casts casts(engine.api(), prepared.get());
  if (!casts.needed()) return Result(engine.api(), prepared.execute(), {});
  return Result(engine.api(), Prepared(engine, casts.around(sql)).execute(), casts.kinds());
}

}  // namespace kymo::query
