// Shared by the tests of random numbers: the fills on the host, from the same text as the kernels (random_core.metal).
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "device/random/fill.h"

// In this file products and sums are rounded one by one, independent of the command line. By default g++ fuses them if
// the processor supports that, as every 64-bit Arm does. Then the host's bits would differ from the devices'. (clang
// ignores this if its command line has -ffp-contract=fast; normal_test.cc would detect that.)
#if defined(__clang__)
#pragma clang fp contract(off)
#else
#pragma GCC push_options
#pragma GCC optimize("fp-contract=off")
#endif

namespace kymo::device::random {
namespace metal {

// What random_core.metal needs of Metal.
using uint = std::uint32_t;
using ulong = std::uint64_t;
struct uint4 {
  constexpr uint4(uint a, uint b, uint c, uint d) : x(a), y(b), z(c), w(d) {}
  uint x, y, z, w;
};
template <class To, class From>
To as_type(From value) {
  return std::bit_cast<To>(value);
}
inline uint mulhi(uint a, uint b) { return static_cast<uint>(ulong{a} * b >> 32); }
inline constexpr uint4 kymo_normal_table[257] = {
#include "device/random/normal_table.inc"
};
#include "device/random/random_core.metal"

template <int kWidth>  // bytes of an element
void store(std::byte* out, uint64_t block, const uint4& v) {
  if constexpr (kWidth == 1) {
    const uint packed = (v.x & 255u) | (v.y & 255u) << 8 | (v.z & 255u) << 16 | v.w << 24;
    std::memcpy(out + 4 * block, &packed, sizeof packed);
  } else if constexpr (kWidth == 2) {
    const uint packed[] = {(v.x & 65535u) | v.y << 16, (v.z & 65535u) | v.w << 16};
    std::memcpy(out + 8 * block, packed, sizeof packed);
  } else {
    std::memcpy(out + 16 * block, &v, sizeof v);
  }
}

template <int kWidth, class Values>
void fill(const Reservation& at, uint64_t count, void* out, Values values) {
  constexpr uint64_t kElements = kWidth == 8 ? 2 : 4;
  auto* const bytes = static_cast<std::byte*>(out);
  const uint64_t full = count / kElements, rest = count % kElements;
  for (uint64_t block = 0; block < full; ++block)
    store<kWidth>(bytes, block, values(kymo_block(at.seed, at.offset + block)));
  if (rest == 0) return;
  std::byte last[16];
  store<kWidth>(last, 0, values(kymo_block(at.seed, at.offset + full)));
  std::memcpy(bytes + full * kElements * kWidth, last, rest * kWidth);
}

struct Normal {
  float mean, deviation;
  uint one(uint word) const {
    const uint key = kymo_normal_key(word);
    return kymo_normal(word, key, kymo_normal_table[kymo_normal_row(key)], mean, deviation);
  }
  uint4 operator()(uint4 w) const { return uint4(one(w.x), one(w.y), one(w.z), one(w.w)); }
};

}  // namespace metal

// Writes `count` elements to `out`, which need not be aligned.
inline void fill_on_host(const Fill& how, const Reservation& at, uint64_t count, void* out) {
  const uint64_t x = how.x, y = how.y, z = how.z;
  using namespace metal;
  const Normal normal{kymo_normal_mean(x), kymo_normal_deviation(x)};
  switch (how.kernel) {
    case Kernel::UniformF32:
      return fill<4>(at, count, out, [=](uint4 w) { return kymo_uniform_values(w, x, y); });
    case Kernel::UniformF16:
      return fill<2>(at, count, out, [=](uint4 w) { return kymo_half_values(kymo_uniform_values(w, x, y)); });
    case Kernel::UniformBF16:
      return fill<2>(at, count, out, [=](uint4 w) { return kymo_bfloat_values(kymo_uniform_values(w, x, y)); });
    case Kernel::NormalF32:
      return fill<4>(at, count, out, normal);
    case Kernel::NormalF16:
      return fill<2>(at, count, out, [=](uint4 w) { return kymo_half_values(normal(w)); });
    case Kernel::NormalBF16:
      return fill<2>(at, count, out, [=](uint4 w) { return kymo_bfloat_values(normal(w)); });
    case Kernel::RandInt8:
      return fill<1>(at, count, out, [=](uint4 w) { return kymo_integer_values(w, x, y); });
    case Kernel::RandInt16:
      return fill<2>(at, count, out, [=](uint4 w) { return kymo_integer_values(w, x, y); });
    case Kernel::RandInt32:
      return fill<4>(at, count, out, [=](uint4 w) { return kymo_integer_values(w, x, y); });
    case Kernel::RandInt64:
      return fill<8>(at, count, out, [=](uint4 w) { return kymo_wide_integer_values(w, x, y, z); });
    case Kernel::RandIntF32:
      return fill<4>(at, count, out, [=](uint4 w) { return kymo_float_integer_values(w, x, y); });
    case Kernel::RandIntF16:
      return fill<2>(at, count, out, [=](uint4 w) { return kymo_half_values(kymo_float_integer_values(w, x, y)); });
    case Kernel::RandIntBF16:
      return fill<2>(at, count, out, [=](uint4 w) { return kymo_bfloat_values(kymo_float_integer_values(w, x, y)); });
    case Kernel::Bernoulli8:
      return fill<1>(at, count, out, [=](uint4 w) { return kymo_bernoulli_values(w, x, y); });
    case Kernel::Bernoulli16:
      return fill<2>(at, count, out, [=](uint4 w) { return kymo_bernoulli_values(w, x, y); });
    case Kernel::Bernoulli32:
      return fill<4>(at, count, out, [=](uint4 w) { return kymo_bernoulli_values(w, x, y); });
    case Kernel::Bernoulli64:
      return fill<8>(at, count, out, [=](uint4 w) { return kymo_wide_bernoulli_values(w, x, y); });
  }
}

inline std::array<uint32_t, 4> philox(const std::array<uint32_t, 4>& counter, const std::array<uint32_t, 2>& key) {
  const metal::uint4 words = metal::kymo_philox(counter[0], counter[1], counter[2], counter[3], key[0], key[1]);
  return {words.x, words.y, words.z, words.w};
}

inline float normal_of(uint32_t word) {
  return std::bit_cast<float>(metal::Normal{0, 1}.one(word));
}  // mean 0, deviation 1

inline uint32_t half_bits(uint32_t float_bits) { return metal::kymo_half(float_bits); }
inline uint32_t bfloat_bits(uint32_t float_bits) { return metal::kymo_bfloat(float_bits); }

// A fill as a list.
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

// The words of the generator, unchanged: integers of all 32 bits.
inline std::vector<uint32_t> words(uint64_t count, uint64_t seed, uint64_t offset = 0) {
  return filled<uint32_t>({Kernel::RandInt32, 4, 0, 0, 0}, count, seed, offset);
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

#if !defined(__clang__)
#pragma GCC pop_options
#endif
