// The tables of many traces as a folder of Parquet files, which DuckDB reads and writes. No server is needed.
//
//   FOLDER/operations/202611-063f7d0c1c5a9b23-0.parquet    a table is a folder; parquet_files.h has the names
//   FOLDER/traces/202611-063f7d0c1c5a9b23-1.parquet        written last
//
// A file appears when it is complete, and is never changed. So several hosts can push into one folder of a network file
// system, and the rule of tables.h decides which rows count. Texts are as in text_name.h.
#pragma once

#include <string>
#include <vector>

#include "fleet/parquet_verify.h"
#include "push/answer.h"
#include "push/store.h"
#include "push/tables.h"
#include "query/engine.h"

namespace kymo::fleet {

class ParquetStore : public push::Store {
 public:
  // Throws kymo::NotAvailable without DuckDB.
  explicit ParquetStore(std::string folder);
  ~ParquetStore() override;

  std::string text() const override;
  bool prepare() override;
  std::map<uint64_t, push::KnownTrace> known(const std::vector<uint64_t>& traces) override;
  void check_rows(std::map<uint64_t, push::KnownTrace>& traces) override;
  void insert(const push::Block& block, uint64_t attempt) override;
  std::unique_ptr<push::EventSink> events(uint64_t attempt) override;
  push::Content content() override;
  void remove_orphans(uint64_t before) override;
  bool remove(uint64_t trace) override;

 private:
  void check_columns();
  void check_version();
  void write(const push::Block& block, uint64_t attempt, const std::string& file);
  void remove_unmarked();

  std::string folder_;
  query::Engine engine_;
  uint64_t attempt_ = 0, next_ = 0;  // of the last file, and the number of the next one of this attempt
  // The files of this attempt while it has no mark. If it gets none they are deleted: nobody counts them, and a full
  // disk would become fuller with each attempt.
  std::vector<std::string> unmarked_;
  std::vector<FileHash> hashes_;  // of the files of this attempt
};

// The rows of a statement about the files of a folder, with the bytes of names. Throws kymo::Error.
push::Rows ask_parquet(const std::string& folder, const std::string& statement);

// The rows of any statement, with the bytes of names. Throws query::QueryError.
push::Rows rows_of(const query::Engine& engine, const std::string& statement);

// The files of a table, for SQL: 'FOLDER/operations/*.parquet', and read_parquet() of them.
std::string parquet_files(const std::string& folder, const push::TableSpec& table);
std::string parquet_table(const std::string& folder, const push::TableSpec& table);

}  // namespace kymo::fleet
