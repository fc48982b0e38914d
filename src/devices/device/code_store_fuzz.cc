// Bytes that claim to be stored code.
#include "device/code_store.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  kymo::device::decode_code(bytes, "key");
  kymo::device::decode_contents(bytes, "key");
  return 0;
}
