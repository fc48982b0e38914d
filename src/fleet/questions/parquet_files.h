// The files of a folder of Parquet files (parquet_store.h), by their names.
//
//   202611-063f7d0c1c5a9b23-2.parquet    month, attempt, number
//
// The files of an attempt have the numbers from 0, over all tables, and the mark in `traces` has the last one. So the
// names tell whether a file of an attempt was removed, and no file is read for that.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/temporary_file.h"
#include "push/tables.h"

namespace kymo::fleet {

inline constexpr std::string_view kParquetEnding = ".parquet";
inline constexpr std::string_view kEmptyFile = "empty.parquet";  // gives a table without rows its columns

// A table is a folder.
std::string folder_of(const std::string& folder, const push::TableSpec& table);
// The complete files of a table; none if its folder does not exist. A folder or a dead link with the name of a file is
// not one, for DuckDB neither. Throws kymo::Error if it cannot be read.
std::vector<std::string> table_files(const std::string& folder, const push::TableSpec& table);
inline bool has_files(const std::string& folder, const push::TableSpec& table) {
  return !table_files(folder, table).empty();
}

// Throws kymo::Error for a path that is not a folder. One that does not exist may become one.
void refuse_file(const std::string& folder);
// With the folders above it. Throws kymo::Error.
void make_folder(const std::string& path);
// The name of something else in a folder that has no schema: kymo push does not write there. Empty if there is nothing.
// Throws kymo::Error if the folder cannot be read.
std::string other_file(const std::string& folder);
// Makes a new or empty folder one of Parquet files. Several processes may do this at the same time. Throws kymo::Error
// if it has other files and no schema.
void claim_folder(const std::string& folder);

// Makes a file that was written complete: as readable as the folder that it is in, and on disk, because the trace may
// be deleted after this. Throws kymo::Error.
void finish_file(base::AtomicFile& file, const std::string& folder);

std::string file_name(std::string_view month, uint64_t attempt, uint64_t number);

// True for the name of a complete file of an attempt.
bool is_file_name(std::string_view name);

// The attempt in the name of a file, also of one that was never completed; nothing if it is not such a name.
std::optional<uint64_t> attempt_in(const std::string& name);

struct Attempt {
  std::string month;
  std::optional<uint64_t> mark;  // the number of its file in `traces`
  std::map<uint64_t, std::string> files;

  // How many files were removed. 0 for an attempt without a mark, whose number of files is not known. The number of a
  // mark is any number that a name has: time and memory do not depend on it.
  uint64_t missing_count() const;
  // The names of the first kMostNamed of them, without the table, which they do not tell.
  static constexpr size_t kMostNamed = 5;
  std::vector<std::string> missing(uint64_t attempt) const;

  // Those of a table, in the folder that attempts_of() got.
  std::vector<std::string> files_of(const std::string& folder, const push::TableSpec& table) const;
};

// Of all tables; one that is gone has no files. Throws kymo::Error if a folder cannot be read.
std::map<uint64_t, Attempt> attempts_of(const std::string& folder);

}  // namespace kymo::fleet
