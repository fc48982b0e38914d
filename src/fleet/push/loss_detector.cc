#include "push/loss_detector.h"

#include <algorithm>

namespace kymo::push {
namespace {

uint64_t amount(const Content& content, const std::string& name) {
  const auto found = content.find(name);
  return found == content.end() ? 0 : found->second;
}

}  // namespace

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
