// What the footers of Parquet files say about their rows.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "questions/parquet_reader.h"

namespace kymo::fleet {

struct Footer {
  uint64_t rows = 0;
  // The least and the greatest value, as text; empty if there are no rows.
  std::string first_attempt, last_attempt, first_started, last_started;
};

// By path, of all tables, without reading the rows; files without rows and those that cannot be read are not in it.
// Throws kymo::Error if a folder cannot be read.
std::map<std::string, Footer> read_footers(ParquetReader& reader);

// Reads the attempts of the rows that kymo fleet reads, and puts them in the place of what the footers say: values may
// be damaged although the footer is not, and a row of another attempt does not count. 19 million rows take 0.1 s.
void read_attempts(ParquetReader& reader, std::map<std::string, Footer>& footers);

// The files with rows of another attempt or month than their names say: they were copied or renamed. Their rows would
// count twice, or be deleted with the wrong month.
std::vector<std::string> misplaced_files(const std::map<std::string, Footer>& footers);

}  // namespace kymo::fleet
