#include "push/store.h"

#include <algorithm>
#include <chrono>
#include <random>

#include "base/text.h"

namespace kymo::push {

uint64_t new_attempt(uint64_t after) {
  constexpr unsigned kRandomBits = 22;  // the others are milliseconds since 1970
  static thread_local std::mt19937_64 random{std::random_device{}()};
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  const auto now = static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(since_1970).count());
  const uint64_t next = after == 0 ? 0 : (after >> kRandomBits) + 1;
  return std::max(now, next) << kRandomBits | (random() & ((uint64_t{1} << kRandomBits) - 1));
}

void refuse_other_version(uint64_t version, const std::string& place) {
  if (version == kSchemaVersion) return;
  throw Error(
      base::format("{} has tables of version {}, and this kymo has version {}: push the traces into a new database",
                   place, version, kSchemaVersion));
}

}  // namespace kymo::push
