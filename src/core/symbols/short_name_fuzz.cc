// Any name of Rust. Any name, at any width: the result fits, and is not much longer than the name.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "symbols/rust_name.h"
#include "symbols/short_name.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kymo::symbols;
  if (size == 0) return 0;
  const std::string_view name(reinterpret_cast<const char*>(data + 1), size - 1);
  if (demangled_rust(name).size() > (1 << 16)) __builtin_trap();
  // "a,b" may become "a, b"
  if (short_name(name, kAnyWidth).size() > 2 * name.size() + 8) __builtin_trap();
  const std::string shorter = short_name(name, data[0]);
  const auto width = std::ranges::count_if(shorter, [](char c) { return (c & 0xC0) != 0x80; });
  if (width > std::max<int>(data[0], 2)) __builtin_trap();
  return 0;
}
