// Translates whatever text: any input must end in a translation or in an error that says where.
//
// The first byte chooses the target; the rest is the source.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "shader/shader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kymo::shader;
  if (size == 0) return 0;
  Options options;
  options.target = static_cast<Target>(data[0] % 3);
  const Translation translation = translate({reinterpret_cast<const char*>(data) + 1, size - 1}, options);
  if (!translation.ok() && translation.first_error() == nullptr) std::abort();
  if (!translation.ok() && translation.log.empty()) std::abort();
  return 0;
}
