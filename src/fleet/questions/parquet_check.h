// What is wrong in a folder of Parquet files: files that were removed, damaged or added, and their traces.
//
// Parquet has no checksum of the values. So `row_counts` has, beside the numbers of rows, a row for each other file of
// the attempt: trace 0, the path of the file as `of_table`, and a hash of its bytes as `row_count`. Attempts of older
// versions do not have them, or not that of the mark: such files are read, and their rows are counted.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "push/tables.h"
#include "query/engine.h"
#include "questions/parquet_files.h"
#include "questions/parquet_tables.h"

namespace kymo::fleet {

// The trace of rows of `row_counts` that are about files: no trace has this number.
inline constexpr uint64_t kFileRows = 0;

struct FileHash {
  std::string file;  // "operations/202611-063f7d0c1c5a9b23-1.parquet"
  uint64_t hash = 0;
};
// The rows of `row_counts`, and those of the other files.
push::Block with_hashes(const push::Block& row_counts, const std::vector<FileHash>& hashes);

// "operations/202611-063f7d0c1c5a9b23-1.parquet": the same wherever the folder is.
std::string path_in_folder(const std::string& file);

// The first file of an attempt that is not as it was written, for people: "FILE is damaged: delete it". Empty if all
// are. Reads all of them.
std::string damage_of(const query::Engine& engine, const std::string& folder, uint64_t number, const Attempt& attempt);

// The files of an attempt that have other bytes than were written, or cannot be read. Those whose hash is not known,
// and cannot be compared, are not in it.
std::vector<std::string> changed_files(const query::Engine& engine, const std::string& folder, const Attempt& attempt);

// A line for people for each attempt that lost files or rows: the traces whose rows are incomplete; and one for the
// traces whose newest rows do not count because their attempt has no mark. A push that is in progress looks the same,
// so traces of which an older attempt counts are named only after ten minutes (push::unmarked_before()). Files that
// cannot be read are left to unreadable_lines(). Names and footers of files are read, and the traces of those that are
// reported. Throws kymo::Error.
std::vector<std::string> incomplete_traces(ParquetReader& reader);

// The files that the reader found unreadable, a line each with the traces and what to do, for people.
std::vector<std::string> unreadable_lines(ParquetReader& reader);

// The files that kymo push did not write, by their names, and what to do, for people: copies of files, for example,
// whose rows would count twice. Empty if there are none, or if they cannot be read: then no row of them counts.
std::string foreign_file(ParquetReader& reader);

}  // namespace kymo::fleet
