// Where the figures of many traces are: in the tables of a ClickHouse server, or in a folder of Parquet files.
//
//   clickhouse://host:8123/database[?cluster=NAME]
//   parquet:FOLDER
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "push/clickhouse.h"
#include "push/store.h"

namespace kymo::fleet {

class ParquetReader;

struct Target {
  std::optional<push::Address> server;
  std::string folder;                     // absolute, if there is no server
  std::shared_ptr<ParquetReader> reader;  // of the folder

  // Without a password, for messages.
  std::string text() const;
};

inline bool is_target(std::string_view text) { return push::is_address(text) || text.starts_with("parquet:"); }

// Throws kymo::InvalidArgument with the value and the forms.
Target parse_target(std::string_view text);

// `warn` is called for what is wrong with the files of a folder. Throws kymo::NotAvailable for a folder without DuckDB.
std::unique_ptr<push::Store> open_store(const Target& target, std::function<void(const std::string& text)> warn);

// The rows of a statement (statements.h). Throws kymo::Error: the server does not answer, the folder has no such files.
// Files of the folder that cannot be read are left out: unreadable_files().
push::Rows ask(const Target& target, const std::string& statement);

// The same, and a server begins at once. A folder is read when the rows are fetched, by the thread that does it.
std::future<push::Rows> ask_later(const Target& target, const std::string& statement);

// The rows of several statements, in their order. A server is asked for all of them at once: parts of a statement run
// on one core only, and the others are idle then.
std::vector<push::Rows> ask_all(const Target& target, const std::vector<std::string>& statements);

// The files that were left out of answers until now, a line each with their traces and what to do, for people.
std::vector<std::string> unreadable_files(const Target& target);

}  // namespace kymo::fleet
