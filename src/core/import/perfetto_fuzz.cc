// A Perfetto trace of any bytes is imported, and what was written can be read.
#include "import/perfetto.h"
#include "import/test_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return kymo::import::testing::import_and_read(kymo::import::read_perfetto, data, size);
}
