#include "heap/sampler.h"

#include <bit>

namespace kymo::heap {
namespace {

// The two functions of libm that are needed, so that Kymo does not make programs load libm. Exact to nine digits.

// For a number in (0, 1].
double natural_logarithm(double value) noexcept {
  constexpr double kLogarithmOfTwo = 0.69314718055994530942, kRootOfHalf = 0.70710678118654752440;
  const auto bits = std::bit_cast<uint64_t>(value);
  auto exponent = static_cast<int64_t>(bits >> 52) - 1022;
  double mantissa = std::bit_cast<double>((bits & ~(uint64_t{0x7ff} << 52)) | uint64_t{1022} << 52);  // in [0.5, 1)
  if (mantissa < kRootOfHalf) {
    mantissa *= 2;
    --exponent;
  }
  const double z = (mantissa - 1) / (mantissa + 1), square = z * z;
  double sum = 0;
  for (int term = 13; term >= 1; term -= 2) sum = sum * square + 1.0 / term;
  return 2 * z * sum + static_cast<double>(exponent) * kLogarithmOfTwo;
}

// 1 - e^-x for x > 0.
double share_within(double x) noexcept {
  constexpr double kCertain = 40;
  if (x >= kCertain) return 1;
  // x is halved until the series is short. The result is doubled back: 1 - e^-2y = s (2 - s) for s = 1 - e^-y.
  int halvings = 0;
  for (; x > 0.125; x /= 2) ++halvings;
  double share = 0;
  for (int term = 9; term >= 1; --term) share = x / term * (1 - share);
  for (; halvings > 0; --halvings) share *= 2 - share;
  return share;
}

}  // namespace

int64_t Sampler::draw(uint64_t mean) noexcept {
  constexpr uint64_t kMaxMean = uint64_t{1} << 40;
  constexpr double kStep = 1.0 / 9007199254740992.0;  // 2^-53
  state_ ^= state_ << 13;
  state_ ^= state_ >> 7;
  state_ ^= state_ << 17;
  const double chance = (static_cast<double>(state_ >> 11) + 1) * kStep;
  return static_cast<int64_t>(-natural_logarithm(chance) * static_cast<double>(mean < kMaxMean ? mean : kMaxMean));
}

// The rest of a distance after an allocation has the same distribution as a new distance. So a new one is drawn.
bool Sampler::begin_next(int64_t step, uint64_t mean) noexcept {
  if (!started_) {
    started_ = true;
    left_ = draw(mean) - step;
    if (left_ >= 0) return false;
  }
  left_ = draw(mean);
  return true;
}

uint64_t sample_weight(uint64_t bytes, uint64_t mean) noexcept {
  if (bytes == 0 || mean == 0) return bytes;
  const double share = share_within(static_cast<double>(bytes) / static_cast<double>(mean));
  return share > 0 ? static_cast<uint64_t>(static_cast<double>(bytes) / share + 0.5) : mean;
}

}  // namespace kymo::heap
