#include "inject/openmp/open_ranges.h"

#include "record/interfaces.h"
#include "record/thread.h"

namespace kymo::inject::openmp {

void OpenRanges::begin(RangeKind kind, Site& site, const kymo_arg* args, uint32_t count, const void* object) noexcept {
  if (depth_ == kDepth) {
    ++skipped_;
    return;
  }
  const uint32_t receivers = kymo::detail::receiver_bits();
  if (receivers != 0) {
    kymo_begin_args_heard(&site, args, count, receivers);
    if (record::Slot* slot = record::this_slot) record::count_delivered(*slot, record::Interface::OpenMp);
  }
  entries_[depth_++] = {object, receivers, kind};
}

int OpenRanges::find(RangeKind kind, const void* object) const noexcept {
  for (int i = static_cast<int>(depth_) - 1; i >= 0; --i)
    if (entries_[i].kind == kind && (object == nullptr || entries_[i].object == object)) return i;
  return -1;
}

void OpenRanges::end_top() noexcept {
  if (const uint32_t receivers = entries_[--depth_].receivers; receivers != 0) kymo_end_heard(receivers);
}

bool OpenRanges::end(RangeKind kind, const void* object) noexcept {
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

}  // namespace kymo::inject::openmp
