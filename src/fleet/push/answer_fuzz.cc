// What a server answers, which may be anything.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kymo/error.h"
#include "push/clickhouse.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  (void)kymo::push::parse_exception(body);
  try {
    const kymo::push::Rows rows = kymo::push::parse_rows(body);
    for (const auto& row : rows.rows) {
      if (row.size() != rows.columns.size()) __builtin_trap();
      for (const std::string& cell : row) {
        try {
          (void)kymo::push::parse_reals(cell, "x");
        } catch (const kymo::Error&) {
        }
        try {
          (void)kymo::push::parse_u64(cell, "x");
        } catch (const kymo::Error&) {
        }
      }
    }
  } catch (const kymo::Error&) {
  }
  return 0;
}
