// Where a thread was from one time to another, from its samples and waits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

namespace kymo::functions {

// Calls take(event, from, to) for the parts of the time, in order. Null: it is not known where the thread was.
//
// `events` are sorted by their begin: a sample ends when it begins, a wait when the thread ran again. Where the thread
// runs is where it is at the next sample, or if that is far away, at the next or the last event that is near.
template <typename Event, typename Take>
void each_place(const std::vector<Event>& events, int64_t begin, int64_t end, const Take& take) {
  constexpr int64_t kNearNs = 2'000'000;  // a thread that runs has a sample each millisecond
  const auto is_sample = [](const Event& one) { return one.begin == one.end; };
  const auto take_until = [&](const Event* where, int64_t until) {
    if (until <= begin) return;
    take(where, begin, until);
    begin = until;
  };
  auto next = std::ranges::lower_bound(events, begin, {}, &Event::begin);
  if (next != events.begin() && std::prev(next)->end > begin) --next;
  const Event* last = nullptr;
  for (; next != events.end() && next->begin < end; ++next) {
    last = &*next;
    take_until(is_sample(*next) || next->begin - begin <= kNearNs ? last : nullptr, next->begin);
    take_until(last, std::min(next->end, end));
  }
  if (next != events.end() && is_sample(*next) && next->begin - end <= kNearNs) last = &*next;
  take_until(end - begin <= kNearNs ? last : nullptr, end);
}

}  // namespace kymo::functions
