// Random numbers from a seed and an index, so any thread can have any of them: Philox 4x32 with nine rounds. The high
// halves of key and index come first, as in PyTorch. The rounds of PyTorch up to 2.11 exchange the halves of their
// products, so its numbers are others, and the mean of its normal numbers is off by 0.07. Later versions do not, and
// have the numbers of this file. A source that needs the older ones defines KYMO_TORCH_2_11_RANDOM.
#pragma once
#include <metal_stdlib>

namespace c10 {
namespace metal {
namespace detail {

inline uint2 splitlong(ulong value) { return uint2(uint(value >> 32), uint(value)); }
inline float uint32_to_uniform_float(uint value) { return float(value & 0x7fffffffu) * 4.6566127342e-10f; }

}  // namespace detail

namespace philox4 {

inline uint2 mulhilo(uint a, uint b) {
#ifdef KYMO_TORCH_2_11_RANDOM
  return uint2(a * b, ::metal::mulhi(a, b));
#else
  return uint2(::metal::mulhi(a, b), a * b);
#endif
}

inline uint4 single_round(uint4 counter, uint2 key) {
  const uint2 a = mulhilo(0xD2511F53u, counter.x), b = mulhilo(0xCD9E8D57u, counter.z);
  return uint4(b.x ^ counter.y ^ key.x, b.y, a.x ^ counter.w ^ key.y, a.y);
}

// One round less than it is asked for, as PyTorch does.
inline uint4 multiple_rounds(uint4 counter, uint2 key, uint rounds) {
  for (uint i = 1; i < rounds; ++i) {
    counter = single_round(counter, key);
    key += uint2(0x9E3779B9u, 0xBB67AE85u);
  }
  return counter;
}

inline uint4 rand(long seed, long index) {
  const uint2 at = detail::splitlong(ulong(index));
  return multiple_rounds(uint4(0u, 0u, at.x, at.y), detail::splitlong(ulong(seed)), 10u);
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

// From low up to, and without, high. A range above 2^24 has gaps: the numbers are multiples of a float.
inline long randint64(long seed, long index, long low, long high) {
  return low + long(rand(seed, index) * float(high - low));
}

}  // namespace metal
}  // namespace c10
