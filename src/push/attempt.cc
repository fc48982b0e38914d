#include "push/attempt.h"

#include <random>

namespace kymo::push {
namespace {

constexpr unsigned kRandomBits = 22;  // the others are milliseconds since 1970

}  // namespace

uint64_t new_attempt() {
  static thread_local std::mt19937_64 random{std::random_device{}()};
  return attempt_of(std::chrono::system_clock::now()) | (random() & ((uint64_t{1} << kRandomBits) - 1));
}

uint64_t attempt_of(std::chrono::system_clock::time_point time) {
  const auto since = std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch());
  return static_cast<uint64_t>(since.count()) << kRandomBits;
}

}  // namespace kymo::push
