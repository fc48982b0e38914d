// Random numbers from a seed and an index, so any thread can have any of them: Philox 4x32 with nine rounds. The high
// halves of key and index come first. PyTorch's own header gives the same numbers.
#pragma once
#include <metal_stdlib>

namespace c10 {
namespace metal {
namespace detail {

constexpr constant uint philox_key_a = 0x9E3779B9u;
constexpr constant uint philox_key_b = 0xBB67AE85u;
constexpr constant uint philox_multiplier_a = 0xD2511F53u;
constexpr constant uint philox_multiplier_b = 0xCD9E8D57u;

inline uint2 split_long(long value) { return uint2(uint(ulong(value) >> 32), uint(ulong(value))); }

inline uint4 philox_round(uint4 counter, uint2 key) {
  const uint high_a = ::metal::mulhi(philox_multiplier_a, counter.x),
             high_b = ::metal::mulhi(philox_multiplier_b, counter.z);
  uint4 next;
  next.x = high_b ^ counter.y ^ key.x;
  next.y = philox_multiplier_b * counter.z;
  next.z = high_a ^ counter.w ^ key.y;
  next.w = philox_multiplier_a * counter.x;
  return next;
}

inline uint4 philox_rounds(uint4 counter, uint2 key, uint rounds) {
  for (uint i = 0; i + 1u < rounds; ++i) {
    counter = philox_round(counter, key);
    key.x += philox_key_a;
    key.y += philox_key_b;
  }
  return philox_round(counter, key);
}

inline float uint32_to_uniform_float(uint value) { return float(value & 0x7fffffffu) * 4.6566127342e-10f; }

}  // namespace detail

namespace philox4 {
inline uint4 rand(long seed, long index) {
  uint4 counter = 0;
  counter.zw = detail::split_long(index);
  return detail::philox_rounds(counter, detail::split_long(seed), 9u);
}
}  // namespace philox4

// From 0 up to 1.
inline float rand(long seed, long index) { return detail::uint32_to_uniform_float(philox4::rand(seed, index).x); }

// Of the normal distribution, by Box and Muller.
inline float randn(long seed, long index) {
  const uint4 value = philox4::rand(seed, index);
  const float u = 1.0f - detail::uint32_to_uniform_float(value.x), v = 1.0f - detail::uint32_to_uniform_float(value.y);
  return ::metal::sqrt(-2.0f * ::metal::log(u)) * ::metal::cos(2.0f * M_PI_F * v);
}

// From low up to, and without, high.
inline long randint64(long seed, long index, long low, long high) {
  const uint4 value = philox4::rand(seed, index);
  const ulong range = ulong(high) - ulong(low);
  if (range >= 0x100000000ul) return low + long((ulong(value.x) | (ulong(value.y) << 32)) % range);
  return low + long(ulong(value.x) % range);
}

}  // namespace metal
}  // namespace c10
