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

namespace kymo::fleet {

struct Target {
  std::optional<push::Address> server;
  std::string folder;                           // absolute, if there is no server
  mutable std::shared_ptr<push::Store> opened;  // by store()

  // Without a password, for messages.
  std::string text() const;
  // The same one for all copies that are made afterwards. Throws kymo::NotAvailable for a folder without DuckDB.
  push::Store& store() const;
};

// Throws kymo::InvalidArgument with the value and the forms.
Target parse_target(std::string_view text);

std::unique_ptr<push::Store> open_store(const Target& target);

}  // namespace kymo::fleet
