#include "device/random/fill.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cfloat>
#include <cmath>

#include "base/text.h"
#include "device/value_bytes.h"
#include "kymo/error.h"

namespace kymo::device::random {
namespace {

constexpr std::array<std::string_view, kKernels> kNames = {
    "kymo_random_uniform_f32",  "kymo_random_uniform_f16", "kymo_random_uniform_bf16", "kymo_random_normal_f32",
    "kymo_random_normal_f16",   "kymo_random_normal_bf16", "kymo_random_randint_8",    "kymo_random_randint_16",
    "kymo_random_randint_32",   "kymo_random_randint_64",  "kymo_random_randint_f32",  "kymo_random_randint_f16",
    "kymo_random_randint_bf16", "kymo_random_bernoulli_8", "kymo_random_bernoulli_16", "kymo_random_bernoulli_32",
    "kymo_random_bernoulli_64",
};

// A group of this size loads the table for normal numbers quickly, and a multiprocessor can run four of them. This
// number of threads keeps a compute unit of any GPU busy.
constexpr uint32_t kGroup = 512;
constexpr uint64_t kThreadsPerUnit = 2048;

[[noreturn]] void refuse_type(std::string_view what, DType type, std::string_view types) {
  throw InvalidArgument(base::format("{} of type {} are not supported: use {}", what, device::name_of(type), types));
}

uint64_t low_high(float low, float high) {
  return std::bit_cast<uint32_t>(low) | uint64_t{std::bit_cast<uint32_t>(high)} << 32;
}

// The kernel for a floating type. The three kernels are in the order f32, f16, bf16.
Kernel floating_kernel(Kernel f32, DType type, std::string_view what) {
  const int first = static_cast<int>(f32);
  switch (type) {
    case DType::F32:
      return f32;
    case DType::F16:
      return static_cast<Kernel>(first + 1);
    case DType::BF16:
      return static_cast<Kernel>(first + 2);
    default:
      refuse_type(what, type, "f32, f16 or bf16");
  }
}

// The kernel for a width. The four kernels are in the order 1, 2, 4, 8 bytes.
Kernel width_kernel(Kernel one_byte, DType type) {
  return static_cast<Kernel>(static_cast<int>(one_byte) + std::countr_zero(size_of(type)));
}

// The nearest value of the type, which must be finite. Subnormal floats become 0, because some devices treat them as 0.
float rounded(DType type, double value, std::string_view name) {
  const auto wide = static_cast<float>(value);
  const float result = type == DType::F16    ? static_cast<float>(Half(wide))
                       : type == DType::BF16 ? static_cast<float>(BFloat16(wide))
                                             : wide;
  if (!std::isfinite(value) || !std::isfinite(result))
    throw InvalidArgument(base::format("{} is {}, which {} cannot hold: use a finite value in its range", name, value,
                                       device::name_of(type)));
  return std::abs(result) < FLT_MIN ? 0 : result;
}

// The next lower value of the type. For positive values the bits decrease by one; for negative values they increase.
float previous(DType type, float value) {
  if (type == DType::F32 || type == DType::BF16) {
    const uint32_t step = type == DType::F32 ? 1 : 0x10000;
    if (value <= FLT_MIN && value >= 0) return value > 0 ? 0 : -FLT_MIN;  // no subnormals
    const auto bits = std::bit_cast<uint32_t>(value);
    return std::bit_cast<float>(value > 0 ? bits - step : bits + step);
  }
  if (value == 0) return static_cast<float>(Half::from_bits(0x8001));
  const uint16_t bits = Half(value).bits();
  return static_cast<float>(Half::from_bits(static_cast<uint16_t>(value > 0 ? bits - 1 : bits + 1)));
}

struct Bounds {
  int64_t lowest, highest;  // both inclusive
};

// The valid bounds for integer_fill. `low` and `high` are int64_t, so 8-byte integers have the bounds of int64_t.
Bounds bounds_of(DType type) {
  switch (type) {
    case DType::F32:
      return {-(1 << 24), 1 << 24};
    case DType::F16:
      return {-(1 << 11), 1 << 11};
    case DType::BF16:
      return {-(1 << 8), 1 << 8};
    case DType::Bool:
      return {0, 1};
    case DType::F64:
      refuse_type("random integers", type, "an integer type, f32, f16 or bf16");
    case DType::U64:
      return {0, INT64_MAX};
    default:
      break;
  }
  const auto bits = static_cast<int>(8 * size_of(type));
  if (!is_signed(type)) return {0, (int64_t{1} << bits) - 1};
  const int64_t highest = INT64_MAX >> (64 - bits);
  return {-highest - 1, highest};
}

uint64_t one_of(DType type) {
  uint64_t bits = 0;
  store_number(Number::of(int64_t{1}), type, &bits);
  return bits;
}

}  // namespace

std::string_view name_of(Kernel kernel) { return kNames.at(static_cast<size_t>(kernel) - 1); }

Fill uniform_fill(DType type, double from, double to) {
  const Kernel kernel = floating_kernel(Kernel::UniformF32, type, "uniform numbers");
  const float first = rounded(type, from, "from"), end = rounded(type, to, "to");
  if (!(from <= to))
    throw InvalidArgument(base::format("from is {} and to is {}: from must not be above to", from, to));
  const float range = end - first;
  if (!std::isfinite(range))
    throw InvalidArgument(
        base::format("the range from {} to {} is wider than a float can hold: use a smaller range", from, to));
  const float last = first == end ? first : std::max(first, previous(type, end));
  return {kernel, 4, low_high(first, range), std::bit_cast<uint32_t>(last), 0};
}

Fill normal_fill(DType type, double mean, double deviation) {
  const Kernel kernel = floating_kernel(Kernel::NormalF32, type, "normal numbers");
  if (!(deviation >= 0)) throw InvalidArgument(base::format("the deviation is {}: it must not be negative", deviation));
  return {kernel, 4, low_high(rounded(DType::F32, mean, "the mean"), rounded(DType::F32, deviation, "the deviation")),
          0, 0};
}

Fill integer_fill(DType type, int64_t low, int64_t high) {
  const Bounds bounds = bounds_of(type);
  if (low >= high) throw InvalidArgument(base::format("low is {} and high is {}: low must be below high", low, high));
  if (low < bounds.lowest || high - 1 > bounds.highest)
    throw InvalidArgument(base::format("integers from {} to {} do not fit {}, which takes {} to {}", low, high - 1,
                                       device::name_of(type), bounds.lowest, bounds.highest));
  const uint64_t first = static_cast<uint64_t>(low), range = static_cast<uint64_t>(high) - first;
  if (size_of(type) == 8) return {Kernel::RandInt64, 2, first, range, UINT64_MAX / range};
  const auto narrow = static_cast<uint32_t>(range);  // 2^32 becomes 0
  const uint32_t reciprocal = narrow == 0 ? 0 : UINT32_MAX / narrow;
  const Kernel kernel = is_floating(type) ? floating_kernel(Kernel::RandIntF32, type, "random integers")
                                          : width_kernel(Kernel::RandInt8, type);
  return {kernel, 4, static_cast<uint32_t>(first), narrow | uint64_t{reciprocal} << 32, 0};
}

Fill bernoulli_fill(DType type, double probability) {
  if (!(probability >= 0 && probability <= 1))
    throw InvalidArgument(base::format("the probability is {}: it must be between 0 and 1", probability));
  const auto below = static_cast<uint64_t>(std::ceil(std::ldexp(probability, 24)));
  return {width_kernel(Kernel::Bernoulli8, type), size_of(type) == 8 ? 2u : 4u, below, one_of(type), 0};
}

LaunchShape launch_shape(const Fill& fill, uint64_t count, uint32_t compute_units, uint32_t max_group) {
  const uint32_t group = std::clamp<uint32_t>(max_group, 1, kGroup);
  const uint64_t max = std::max<uint64_t>(compute_units, 1) * kThreadsPerUnit;
  const uint64_t blocks = fill.blocks(count);
  const uint64_t needed = std::max<uint64_t>(blocks / group + (blocks % group != 0), 1);
  return {std::min(needed, std::max<uint64_t>(max / group, 1)) * group, group};
}

}  // namespace kymo::device::random
