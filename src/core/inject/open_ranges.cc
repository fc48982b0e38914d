#include "inject/open_ranges.h"

#include "record/slots.h"

namespace kymo::inject {

void OpenRanges::add(const Entry& entry) noexcept {
  if (depth_ == kDepth) {
    ++skipped_;
    return;
  }
  if (record::Slot* slot = entry.receivers != 0 ? record::this_slot : nullptr)
    record::count_delivered(*slot, interface_);
  entries_[depth_++] = entry;
}

int OpenRanges::find(uint8_t kind, const void* object) const noexcept {
  for (int i = static_cast<int>(depth_) - 1; i >= 0; --i)
    if (entries_[i].kind == kind && (object == nullptr || entries_[i].object == object)) return i;
  return -1;
}

void OpenRanges::end_top() noexcept {
  if (const uint32_t receivers = entries_[--depth_].receivers; receivers != 0) kymo_end_heard(receivers);
}

bool OpenRanges::end(uint8_t kind, const void* object) noexcept {
  if (skipped_ != 0) {  // the innermost ranges are those without space
    --skipped_;
    return true;
  }
  const int at = find(kind, object);
  if (at < 0) return false;
  while (static_cast<int>(depth_) > at) end_top();
  return true;
}

void OpenRanges::end_all() noexcept {
  skipped_ = 0;
  while (depth_ != 0) end_top();
}

}  // namespace kymo::inject
