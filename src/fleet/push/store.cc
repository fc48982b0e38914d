#include "push/store.h"

#include <algorithm>
#include <random>

namespace kymo::push {
namespace {

constexpr unsigned kRandomBits = 22;  // the others are milliseconds since 1970

uint64_t amount(const Content& content, const std::string& name) {
  const auto found = content.find(name);
  return found == content.end() ? 0 : found->second;
}

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

bool LossDetector::look(const Content& now) {
  const bool was_less =
      std::any_of(most_.begin(), most_.end(), [&](const auto& one) { return amount(last_, one.first) < one.second; });
  const bool becomes_less =
      std::any_of(last_.begin(), last_.end(), [&](const auto& one) { return amount(now, one.first) < one.second; });
  const bool is_lost = was_less && !becomes_less;
  last_ = now;
  if (is_lost) most_ = now;
  for (const auto& [name, count] : now) most_[name] = std::max(amount(most_, name), count);
  return is_lost;
}

}  // namespace kymo::push
