#include "collect/open_handles.h"

#include <utility>

namespace kymo::collect {
namespace {

constexpr size_t kMaxOpenHandles = 1 << 20;

}  // namespace

void OpenHandles::begin(uint64_t handle) {
  if (open_.size() < kMaxOpenHandles) open_.insert(handle);
}

void OpenHandles::end(uint64_t handle, uint32_t track, uint64_t time) {
  if (open_.erase(handle) == 0 && !accepts_unknown_ends_ && open_.size() < kMaxOpenHandles)
    late_.push_back({handle, track, time, false});
}

std::vector<trace::Loss> OpenHandles::unknown_ends() {
  std::vector<trace::Loss> unknown;
  std::erase_if(late_, [&](LateEnd& late) {
    if (open_.erase(late.handle) != 0) return true;
    if (late.old) unknown.push_back({trace::LossCause::UnknownRange, late.track, 1, late.time, late.time, ""});
    return std::exchange(late.old, true);
  });
  return unknown;
}

}  // namespace kymo::collect
