// Bytes that claim to be a .kymolib file. The checksum is set right first, because a fuzzer would never find it.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/bytes.h"
#include "base/hash.h"
#include "kymo/error.h"
#include "kymo/translate.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kHeader = 16;
  std::string bytes(reinterpret_cast<const char*>(data), size);
  for (const bool repaired : {false, true}) {
    if (repaired) {
      bytes.insert(0, std::string("KYMOLIB\x01") + std::string(8, '\0'));
      const uint64_t sum = kymo::base::hash(kymo::base::as_bytes(bytes).subspan(kHeader));
      std::memcpy(bytes.data() + 8, &sum, sizeof sum);
    }
    try {
      const kymo::shader::KernelLibrary library = kymo::shader::decode_library(bytes);
      // What was read is written the same way again.
      const kymo::shader::KernelLibrary again = kymo::shader::decode_library(kymo::shader::encode_library(library));
      if (again.parts.size() != library.parts.size()) std::abort();
      for (const auto& part : library.parts)
        for (const auto& kernel : part.kernels)
          if (kymo::shader::argument_order(kernel).size() != kernel.parameters.size()) std::abort();
    } catch (const kymo::Error&) {
    }
  }
  return 0;
}
