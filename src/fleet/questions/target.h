// Where the figures of many traces are: in the tables of a ClickHouse server, or in a folder of Parquet files.
//
//   clickhouse://host:8123/database[?cluster=NAME]
//   parquet:FOLDER
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "push/clickhouse.h"
#include "push/store.h"
#include "query/engine.h"

namespace kymo::fleet {

struct Target {
  std::optional<push::Address> server;
  std::string folder;                             // absolute, if there is no server
  mutable std::shared_ptr<query::Engine> engine;  // that reads the folder; made when it is needed

  // Without a password, for messages.
  std::string text() const;
};

inline bool is_target(std::string_view text) { return push::is_address(text) || text.starts_with("parquet:"); }

// Throws kymo::InvalidArgument with the value and the forms.
Target parse_target(std::string_view text);

// Throws kymo::NotAvailable for a folder without DuckDB.
std::unique_ptr<push::Store> open_store(const Target& target);

// Of its tables; 0: it has none. Throws kymo::Error.
uint64_t version_of(const Target& target);

// The rows of a statement (statements.h). Throws kymo::Error: the server does not answer, a file cannot be read.
push::Rows ask(const Target& target, const std::string& statement);

}  // namespace kymo::fleet
