// An SQLite file of any bytes is imported as an export of Nsight Systems, and what was written can be read.
#include "import/nsys.h"
#include "import/test_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kymo::import;
  const auto read = [&](ByteSource&, TraceBuilder& builder) {
    SqliteFile file(SqliteFile::InMemory{{reinterpret_cast<const char*>(data), size}});
    return read_nsys(file, builder);
  };
  return testing::import_and_read(read, data, size);
}
