// Whether the files of an attempt still have what was written to them.
//
// Parquet has no checksum of the values. So `row_counts` has, beside the numbers of rows, a row for each other file of
// the attempt: trace 0, the path of the file as `of_table`, and a hash of its bytes as `row_count`. Attempts of older
// versions do not have them, or not that of the mark: such files are read, and their rows are counted.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "questions/parquet_files.h"
#include "push/block.h"
#include "query/engine.h"

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

// True if this file of `row_counts` has hashes of files of the attempt and month in its own name. So it was written
// with this name: it is not a copy.
bool has_own_name(const query::Engine& engine, const std::string& counts_file);

}  // namespace kymo::fleet
