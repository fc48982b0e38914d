// Prints the rows of a query.
#pragma once

#include <cstdint>

#include "query/result.h"

namespace kymo::cli {

enum class RowFormat : uint8_t { Table, Csv, Json, Markdown };

// Prints to standard output. CSV and JSON are written while rows arrive; the others have at most 10,000 rows, and a
// note says if there are more. Ends early if the reader of standard output has ended. Throws query::QueryError.
void print_rows(query::Result& result, RowFormat format);

}  // namespace kymo::cli
