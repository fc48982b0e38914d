// A profile of JAX of any bytes is imported, and what was written can be read.
#include "import/test_fuzz.h"
#include "import/xplane.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return kymo::import::testing::import_and_read(kymo::import::read_xplane, data, size);
}
