#include <string>
#include <vector>

#include "base/text.h"
#include "query/engine.h"
#include "query/session.h"

namespace kymo::query {
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
  return Result(engine.api(), Prepared(engine, casts.around(sql)).execute(), casts.json());
}

}  // namespace kymo::query
