#include "push/attempt.h"

#include <algorithm>
#include <random>

namespace kymo::push {
namespace {

constexpr unsigned kRandomBits = 22;  // the others are milliseconds since 1970

}  // namespace

uint64_t new_attempt(uint64_t after) {
  static thread_local std::mt19937_64 random{std::random_device{}()};
  const uint64_t now = attempt_of(std::chrono::system_clock::now());
  const uint64_t next = after == 0 ? 0 : ((after >> kRandomBits) + 1) << kRandomBits;
  return std::max(now, next) | (random() & ((uint64_t{1} << kRandomBits) - 1));
}

uint64_t attempt_of(std::chrono::system_clock::time_point time) {
  const auto since = std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch());
  return static_cast<uint64_t>(since.count()) << kRandomBits;
}

uint64_t unmarked_before() {
  constexpr std::chrono::minutes kAge{10};
  return attempt_of(std::chrono::system_clock::now() - kAge);
}

}  // namespace kymo::push
