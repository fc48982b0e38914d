// Fills device memory with random numbers: which kernel to use, with which arguments, and how to launch it.
//
//   const Fill fill = normal_fill(DType::F32, 0, 1);                             // checks what was asked for
//   const Reservation at = generator.reserve(fill.blocks(count));                // whose numbers
//   launch the kernel name_of(fill.kernel) of random.metal over launch_shape(...) threads, with the tensor, the count,
//   the reservation, fill.x, y and z, and for normal numbers their table                         // builtin.cc
//
// Numbering: block b of the reservation gives elements 4 b to 4 b + 3, one word each. If an element has 8 bytes, it
// gives elements 2 b and 2 b + 1, two words each, the high word first. All devices give the same numbers, to the last
// bit; the tests compute them on the host too (test_values.h).
//
// Launching: one dimension, in whole groups. A thread takes every (threads)-th block, so any number of groups gives the
// same numbers; launch_shape returns a fast one. The address must be aligned to the element. An address that is aligned
// to 16 bytes (as all allocations are) is written with the widest stores. A count of 0 needs no launch. The normal
// kernels use 4.1 KB of group memory.
//
// Failure: InvalidArgument, with the value. Cost: negligible; nothing is allocated.
#pragma once

#include <cstdint>
#include <string_view>

#include "device/random/generator.h"
#include "kymo/dtype.h"

namespace kymo::device::random {

// The kernels, by the type that they store. Signed and unsigned integers of one width share a kernel.
enum class Kernel : uint8_t {
  UniformF32 = 1,
  UniformF16,
  UniformBF16,
  NormalF32,
  NormalF16,
  NormalBF16,
  RandInt8,
  RandInt16,
  RandInt32,
  RandInt64,
  RandIntF32,
  RandIntF16,
  RandIntBF16,
  Bernoulli8,
  Bernoulli16,
  Bernoulli32,
  Bernoulli64,
};
inline constexpr int kKernels = 17;
std::string_view name_of(Kernel kernel);  // in its program: "kymo_random_uniform_f32", …

struct Fill {
  Kernel kernel = Kernel::UniformF32;
  uint32_t elements_per_block = 4;
  uint64_t x = 0, y = 0, z = 0;  // random_core.metal documents what each kernel reads from them

  // The number of blocks that a fill of `count` elements takes from its generator.
  uint64_t blocks(uint64_t count) const { return count / elements_per_block + (count % elements_per_block != 0); }
};

// from <= value < to; all values are `from` if both are equal. f32, f16, bf16. Both ends are first rounded to the type.
// A value is from + (to - from) * u in float, with u a multiple of 2^-24. If the rounding of that sum or the rounding
// to 16 bits would give `to`, the result is the last value of the type before `to`.
Fill uniform_fill(DType type, double from, double to);

// f32, f16, bf16: mean + deviation * z in float, then rounded. z comes from one word, is at most 6.338 away from 0, and
// differs from the true quantile of its word by at most 5.2e-7 (tested for all 2^32 words; normal_test.cc tests some).
// deviation >= 0.
Fill normal_fill(DType type, double mean, double deviation);

// low <= value < high: low + word mod (high - low), so numbers below (2^32 mod range) are more frequent by range /
// 2^32. 8-byte integers use 64 bits. Integers must be within the range of the type; for f32, f16 and bf16 within the
// integers that they represent without gaps (2^24, 2^11, 2^8); bool has 0 and 1.
Fill integer_fill(DType type, int64_t low, int64_t high);

// 1 with the given probability, else 0: u < probability, u a multiple of 2^-24. Any type.
Fill bernoulli_fill(DType type, double probability);

// Threads, a multiple of the group. The group is 512, or the kernel's max if that is less.
struct LaunchShape {
  uint64_t threads = 0;
  uint32_t group = 0;
};
LaunchShape launch_shape(const Fill& fill, uint64_t count, uint32_t compute_units, uint32_t max_group);

}  // namespace kymo::device::random
