// The tables of many traces as a folder of Parquet files, which DuckDB reads and writes. No server is needed.
//
//   FOLDER/operations/202611-063f7d0c1c5a9b23-0.parquet    a table is a folder; parquet_files.h has the names
//   FOLDER/traces/202611-063f7d0c1c5a9b23-1.parquet        written last
//
// A file appears when it is complete, and is never changed. So several hosts can push into one folder of a network file
// system, and the rule of tables.h decides which rows count. Texts are as in text_name.h.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/temporary_file.h"
#include "push/store.h"
#include "questions/parquet_check.h"
#include "questions/parquet_tables.h"

namespace kymo::fleet {

class ParquetStore : public push::Store {
 public:
  // `warn` is called for files that cannot be read; may be empty. Throws kymo::NotAvailable without DuckDB.
  ParquetStore(std::string folder, std::function<void(const std::string& text)> warn);
  ~ParquetStore() override;

  std::string text() const override;
  bool prepare() override;
  std::map<uint64_t, push::KnownTrace> known(const std::vector<uint64_t>& traces) override;
  void check_rows(std::map<uint64_t, push::KnownTrace>& traces) override;
  void insert(const push::Block& block, uint64_t attempt) override;
  std::unique_ptr<push::EventSink> events(uint64_t attempt) override;
  push::Content content() override;
  uint64_t remove_orphans(uint64_t before) override;
  bool remove(uint64_t trace) override;

 private:
  void warn_of_unreadable();
  void check_columns();
  void check_version();
  void write_again();
  void find_unmarked(const std::map<uint64_t, Attempt>& attempts, std::map<uint64_t, push::KnownTrace>& traces);
  void add_with_unreadable_marks(const std::vector<uint64_t>& traces, std::map<uint64_t, push::KnownTrace>& found);
  void fill(base::AtomicFile& file, const push::Block& block, uint64_t attempt);
  void write(const push::Block& block, uint64_t attempt, const std::string& name);
  void write_data(const push::Block& block, uint64_t attempt);
  void write_mark(const push::Block& block, uint64_t attempt);
  void remove_unmarked();

  std::string folder_;
  ParquetReader reader_;
  std::function<void(const std::string& text)> warn_;
  std::set<std::string> warned_;     // of these files
  uint64_t attempt_ = 0, next_ = 0;  // of the last file, and the number of the next one of this attempt
  // The files of this attempt while it has no mark. If it gets none they are deleted: nobody counts them, and a full
  // disk would become fuller with each attempt.
  std::vector<std::string> unmarked_;
  std::vector<FileHash> hashes_;           // of the files of this attempt
  std::optional<push::Block> row_counts_;  // of this attempt, which are written with the mark: they have its hash
};

// The rows of a statement about the files of a folder, with the bytes of names. Throws kymo::Error.
push::Rows ask_parquet(ParquetReader& reader, const std::string& statement);

}  // namespace kymo::fleet
