// The tables of many traces as a folder of Parquet files, which DuckDB reads and writes. No server is needed.
//
//   FOLDER/kymo-8/20261119-063f7d0c1c5a9b23/operations.parquet    version, day and attempt; a file for each table
//   FOLDER/unfinished/063f7d0c1c5a9b24/operations.parquet         what a push writes now, or did not finish
//
// What is pushed together is a folder, which appears when it is complete, and is never changed. So several hosts can
// push into one folder of a network file system. Small ones of a day become one later. That has its traces as another
// attempt, and of each trace the newest attempt counts (tables.h), so no moment has it twice. Texts are as in
// text_name.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "push/clickhouse.h"
#include "push/store.h"
#include "query/engine.h"

namespace kymo::fleet {

class ParquetStore : public push::Store {
 public:
  // Throws kymo::NotAvailable without DuckDB.
  explicit ParquetStore(std::string folder);

  // Throws kymo::Error if the folder has other files, or tables of another version.
  void prepare() override;
  // A file that cannot be one of the tables is an error.
  uint64_t version() override;
  // With tables of parquet_table(), and with the bytes of names.
  push::Rows ask(const std::string& statement) override;
  push::KnownTraces known(const std::vector<uint64_t>& traces, uint32_t from, uint32_t to) override;
  void publish(const push::SummaryBlocks& rows, uint32_t day) override;
  void tidy() override;

 private:
  push::Rows rows_of(const std::string& statement);
  void refuse_damaged_file();
  void refuse_hidden_part();
  void join(const std::string& day, const std::vector<std::string>& parts);
  // Fills a new folder by `write`, which gets its path, and gives it its name.
  template <typename Write>
  void publish_as(const std::string& name, uint64_t attempt, Write&& write);

  std::string folder_;
  query::Engine engine_;
};

// The functions of ClickHouse that statements use, for DuckDB.
extern const std::string_view kFunctionsOfDuckDb;

// A table, for statements: read_parquet() of all its files.
std::string parquet_table(const std::string& folder, const push::TableSpec& table);

}  // namespace kymo::fleet
