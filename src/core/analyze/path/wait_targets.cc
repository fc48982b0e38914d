#include "analyze/path/wait_targets.h"

#include <algorithm>

namespace kymo::analyze {

WaitTargets::WaitTargets(const EventWalk& walk, const Activity& activity) : walk_(walk), activity_(activity) {
  for (const auto& [track, queue] : activity.queues) {
    const TrackOfTrace& of = walk.tracks()[track];
    Queue& made = queues_.emplace_back(Queue{of.writer_number, &of.track->device_uuid, queue.operations});
    std::stable_sort(made.by_end.begin(), made.by_end.end(),
                     [&](uint32_t a, uint32_t b) { return activity.operations[a].end < activity.operations[b].end; });
  }
}

// The last operation that was launched before the call and ended before its end.
uint32_t WaitTargets::last_before(const Queue& queue, const DeviceWait& wait) const {
  auto after = std::partition_point(queue.by_end.begin(), queue.by_end.end(),
                                    [&](uint32_t i) { return activity_.operations[i].end <= wait.end; });
  while (after != queue.by_end.begin()) {
    const DeviceOperation& operation = activity_.operations[*--after];
    const Launch* const launch = activity_.work.launch_of(walk_, operation);
    if (operation.begin < wait.end && (launch == nullptr || launch->begin < wait.begin)) return *after;
  }
  return UINT32_MAX;
}

std::vector<uint32_t> WaitTargets::of(uint32_t track, const DeviceWait& wait) const {
  struct Last {
    uint32_t operation;
    const Queue* queue;
  };
  std::vector<Last> all;
  for (const Queue& queue : queues_) {
    if (queue.writer_number != walk_.tracks()[track].writer_number) continue;
    if (const uint32_t last = last_before(queue, wait); last != UINT32_MAX) all.push_back({last, &queue});
  }
  std::stable_sort(all.begin(), all.end(), [&](const Last& a, const Last& b) {
    return activity_.operations[a.operation].end > activity_.operations[b.operation].end;
  });
  if (all.empty()) return {};
  const Last first = all.front();
  const auto is_other = [&](const Last& one) {
    return wait.whole_device ? *one.queue->device != *first.queue->device : one.queue != first.queue;
  };
  const bool waited = activity_.operations[first.operation].end >= wait.begin;
  if (!waited && std::any_of(all.begin(), all.end(), is_other)) return {};
  std::erase_if(all, is_other);
  std::vector<uint32_t> operations;
  for (const Last& one : all) operations.push_back(one.operation);
  return operations;
}

}  // namespace kymo::analyze
