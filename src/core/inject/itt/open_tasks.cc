#include "inject/itt/open_tasks.h"

#include "record/interfaces.h"
#include "record/thread.h"

namespace kymo::inject::itt {

void OpenTasks::begin(const void* domain, const kymo_label& label) noexcept {
  if (depth_ == kDepth) {
    ++skipped_;
    return;
  }
  const uint32_t receivers = kymo::detail::receiver_bits();
  if (receivers != 0) {
    kymo_begin_label_heard(&label, nullptr, 0, receivers);
    if (record::Slot* slot = record::this_slot) record::count_delivered(*slot, record::Interface::Itt);
  }
  entries_[depth_++] = {domain, receivers};
}

void OpenTasks::end(const void* domain) noexcept {
  if (skipped_ != 0) {  // the innermost tasks are those without space
    --skipped_;
    return;
  }
  uint32_t at = depth_;
  while (at != 0 && entries_[at - 1].domain != domain) --at;
  if (at == 0) return;
  while (depth_ >= at)
    if (const uint32_t receivers = entries_[--depth_].receivers; receivers != 0) kymo_end_heard(receivers);
}

}  // namespace kymo::inject::itt
