// The files of a folder of Parquet files (parquet_store.h), by their names.
//
//   202611-063f7d0c1c5a9b23-2.parquet    month, attempt, number
//
// The files of an attempt have the numbers from 0, over all tables. The last one is in `traces`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/temporary_file.h"
#include "push/tables.h"

namespace kymo::fleet {

inline constexpr std::string_view kParquetEnding = ".parquet";
inline constexpr std::string_view kEmptyFile = "empty.parquet";      // gives a table without rows its columns
inline constexpr std::string_view kVersionFile = "version.parquet";  // the row of the schema

// A table is a folder.
std::string folder_of(const std::string& folder, const push::TableSpec& table);

// True if `kymo push` has made all tables in this folder, of any version.
bool has_tables(const std::string& folder);

// Makes a new or empty folder one of Parquet files. Several processes may do this at the same time. Throws kymo::Error
// if it has other files.
void claim_folder(const std::string& folder);
// With the folders above it. Throws kymo::Error.
void make_folder(const std::string& path);

// Makes a file that was written complete: as readable as the folder that it is in, and on disk, because the trace may
// be deleted after this. Throws kymo::Error.
void finish_file(base::AtomicFile& file, const std::string& folder);

std::string file_name(std::string_view month, uint64_t attempt, uint64_t number);

}  // namespace kymo::fleet
