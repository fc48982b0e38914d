// What the footers of Parquet files say about their rows. The rows themselves are not read.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "fleet/parquet_reader.h"

namespace kymo::fleet {

struct Footer {
  uint64_t rows = 0;
  // The least and the greatest value, as text; empty if there are no rows.
  std::string first_attempt, last_attempt, first_started, last_started;
};

// By path, of all tables; files without rows and those that cannot be read are not in it. Throws kymo::Error if a
// folder cannot be read.
std::map<std::string, Footer> read_footers(ParquetReader& reader);

// The files with rows of another attempt or month than their names say: they were copied or renamed. Their rows would
// count twice, or be deleted with the wrong month.
std::vector<std::string> misplaced_files(const std::map<std::string, Footer>& footers);

}  // namespace kymo::fleet
