#include "record/stated.h"

#include <unistd.h>

#include "record/segment.h"
#include "record/slow_path.h"

namespace kymo::record {

bool Stated::begin() noexcept {
  constexpr uint64_t kTimesInARing = 4;
  Slot* const slot = enter_ring();
  const Process* const shared = process();
  if (slot == nullptr || shared == nullptr) return false;
  const SegmentHeader* const header = shared->segment.load(std::memory_order_acquire);
  if (header == nullptr) return false;
  const bool wraps = header->policy.load(std::memory_order_relaxed) == static_cast<uint32_t>(RingPolicy::Overwrite);
  process_ = shared;
  pid_ = static_cast<uint32_t>(getpid());
  slot_ = slot;
  epoch_ = shared->epoch.load(std::memory_order_relaxed);
  until_ = wraps ? slot->head.load(std::memory_order_relaxed) + (slot->mask + 1) / kTimesInARing : ~uint64_t{0};
  return true;
}

}  // namespace kymo::record
