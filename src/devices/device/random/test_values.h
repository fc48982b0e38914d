// Shared by the tests of random numbers.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "device/random/host_fill.h"

namespace kymo::device::random {

// A fill on the host.
template <class T>
std::vector<T> filled(const Fill& fill, uint64_t count, uint64_t seed = 42, uint64_t offset = 0) {
  std::vector<T> values(count);
  fill_on_host(fill, {seed, offset}, count, values.data());
  return values;
}

inline std::vector<uint32_t> bits_of(const std::vector<float>& values) {
  std::vector<uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<uint32_t>(value));
  return bits;
}

// The words of the generator, unchanged.
inline std::vector<uint32_t> words(uint64_t count, uint64_t seed, uint64_t offset = 0) {
  return filled<uint32_t>(full_range_fill(DType::U32), count, seed, offset);
}

// The values of the bits of an f16 and of a bf16.
inline float half_value(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const float size =
      exponent == 0 ? std::ldexp(float(bits & 1023), -24) : std::ldexp(float((bits & 1023) + 1024), exponent - 25);
  return bits & 0x8000 ? -size : size;
}
inline float bfloat_value(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

}  // namespace kymo::device::random
