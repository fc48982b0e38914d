// The tables of many traces as a folder of Parquet files, which DuckDB reads and writes. No server is needed.
//
//   FOLDER/operations/202611-063f7d0c1c5a9b23-0.parquet    a table is a folder; parquet_files.h has the names
//   FOLDER/traces/202611-063f7d0c1c5a9b23-1.parquet        written last
//
// A file appears when it is complete, and is never changed. So several hosts can push into one folder of a network file
// system, and the rule of tables.h decides which rows count. Texts are as in text_name.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "push/store.h"
#include "query/engine.h"

namespace kymo::fleet {

class ParquetStore : public push::Store {
 public:
  // Throws kymo::NotAvailable without DuckDB.
  explicit ParquetStore(std::string folder);
  ~ParquetStore() override { remove_unmarked(); }

  void prepare() override;
  push::KnownTraces known(const std::vector<uint64_t>& traces) override;
  void insert(const push::Block& block, uint64_t attempt) override;

 private:
  void write(const push::TableSpec& table, const std::string& csv, const std::string& path);
  void remove_unmarked();

  std::string folder_;
  query::Engine engine_;
  uint64_t attempt_ = 0, next_ = 0;  // of the last file, and the number of the next one of this attempt
  // The files of this attempt while it has no mark. If it gets none they are deleted: nobody counts them, and a full
  // disk would become fuller with each attempt.
  std::vector<std::string> unmarked_;
};

}  // namespace kymo::fleet
