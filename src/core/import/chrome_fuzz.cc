// A Chrome trace of any bytes is imported, and what was written can be read. Also by two threads, in small pieces.
#include "import/chrome.h"
#include "import/test_fuzz.h"

namespace {

int64_t read_in_pieces(kymo::import::ByteSource& source, kymo::import::TraceBuilder& builder) {
  return kymo::import::read_chrome_with(source, builder, {.threads = 2, .piece_bytes = 256});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  kymo::import::testing::import_and_read(kymo::import::read_chrome, data, size);
  return kymo::import::testing::import_and_read(read_in_pieces, data, size);
}
