#include "edge/adjust.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <utility>

namespace kymo::edge {
namespace {

constexpr uint32_t kNoEvent = EdgeEvent::kNone;
constexpr uint64_t kEndOfTime = std::numeric_limits<uint64_t>::max();

uint64_t later(uint64_t time, uint64_t by) { return by > kEndOfTime - time ? kEndOfTime : time + by; }

// The time that decides the event's position among its siblings.
uint64_t place_time(const EdgeEvent& event) {
  return event.kind == EdgeKind::Device && event.queued_ns != 0 ? event.queued_ns : event.start_ns;
}

// One event of the thread that is being adjusted.
struct AdjustNode {
  uint32_t event = 0;  // index in the result before adjusting
  uint32_t parent = kNoEvent, first_child = kNoEvent, last_child = kNoEvent, next_sibling = kNoEvent;  // nodes
  uint64_t duration = 0, inside = 0;  // its own, and the total of its children
};

// A thread's events with the Vulkan operations that it requested, adjusted and in their new order.
class AdjustedThread {
 public:
  AdjustedThread(const ResultData& result, const ThreadInfo& thread, std::span<const uint32_t> vulkan)
      : result_(result) {
    nodes_.resize(thread.event_count + vulkan.size());
    for (uint32_t i = 0; i < thread.event_count; ++i) {
      const uint32_t parent = result.events[thread.first_event + i].parent;
      add(i, thread.first_event + i, host_node(thread, parent, i));  // a parent comes before its children
    }
    for (uint32_t i = 0; i < vulkan.size(); ++i) {
      const uint32_t cause = result.events[vulkan[i]].caused_by;
      add(thread.event_count + i, vulkan[i], host_node(thread, cause, thread.event_count));
    }
    measure(thread.event_count);
    link(thread.event_count);
  }

  // Calls emit(old index of the event, old index of the parent, start, end) for each event: parents first, in the order
  // of their begin.
  template <class Emit>
  void place(Emit&& emit) const {
    // The open nodes: their children are being placed.
    struct Level {
      uint32_t next_child;
      // End of the previous child; end of the parent; total length of the remaining children.
      uint64_t cursor, end, left;
      uint64_t moved;  // how much later the parent begins than before; a negative value wraps around
    };
    std::vector<Level> open{{first_root_, 0, kEndOfTime, 0, 0}};
    while (!open.empty()) {
      Level& level = open.back();
      if (level.next_child == kNoEvent) {
        open.pop_back();
        continue;
      }
      const AdjustNode& node = nodes_[level.next_child];
      const EdgeEvent& event = result_.events[node.event];
      const uint64_t latest = level.end - std::min(level.left, level.end);
      const uint64_t start = std::max(level.cursor, std::min(place_time(event) + level.moved, latest));
      const uint64_t end = later(start, node.duration);
      level.next_child = node.next_sibling;
      level.cursor = end;
      level.left -= std::min(level.left, node.duration);
      emit(node.event, node.parent == kNoEvent ? kNoEvent : nodes_[node.parent].event, start, end);
      if (node.first_child != kNoEvent)
        open.push_back({node.first_child, start, end, node.inside, start - event.start_ns});
    }
  }

 private:
  // The node of an event, which is one of the first `count` events of the thread.
  static uint32_t host_node(const ThreadInfo& thread, uint32_t event, uint32_t count) {
    return event >= thread.first_event && event - thread.first_event < count ? event - thread.first_event : kNoEvent;
  }

  void add(uint32_t node, uint32_t event, uint32_t parent) {
    const EdgeEvent& one = result_.events[event];
    nodes_[node].event = event;
    nodes_[node].parent = parent;
    nodes_[node].duration = one.end_ns - std::min(one.start_ns, one.end_ns);
  }

  // Vulkan operations have no children, and other operations come before their children: backwards means from the
  // leaves up.
  void measure(uint32_t host_count) {
    for (size_t i = nodes_.size(); i-- > 0;) {
      AdjustNode& node = nodes_[i];
      if (i < host_count) node.duration = std::max(node.duration, node.inside);
      if (node.parent == kNoEvent) continue;
      AdjustNode& parent = nodes_[node.parent];
      parent.inside = later(parent.inside, node.duration);
    }
  }

  // Links the children of each node in their final order. Those of the host keep their relative order.
  void link(uint32_t host_count) {
    std::vector<uint32_t> order(nodes_.size());
    std::iota(order.begin(), order.end(), 0);
    const auto earlier = [&](uint32_t a, uint32_t b) {
      return place_time(result_.events[nodes_[a].event]) < place_time(result_.events[nodes_[b].event]);
    };
    const auto first_vulkan = order.begin() + host_count;
    std::stable_sort(first_vulkan, order.end(), earlier);
    std::inplace_merge(order.begin(), first_vulkan, order.end(), earlier);
    uint32_t last_root = kNoEvent;
    for (const uint32_t i : order) {
      const uint32_t parent = nodes_[i].parent;
      uint32_t& first = parent == kNoEvent ? first_root_ : nodes_[parent].first_child;
      uint32_t& last = parent == kNoEvent ? last_root : nodes_[parent].last_child;
      (first == kNoEvent ? first : nodes_[last].next_sibling) = i;
      last = i;
    }
  }

  const ResultData& result_;
  std::vector<AdjustNode> nodes_;
  uint32_t first_root_ = kNoEvent;
};

// The Vulkan operations of each thread, by its number in the result.
std::vector<std::vector<uint32_t>> vulkan_by_thread(const ResultData& result) {
  std::unordered_map<uint64_t, size_t> thread_numbers;
  for (size_t i = 0; i < result.threads.size(); ++i) thread_numbers.emplace(result.threads[i].thread, i);
  std::vector<std::vector<uint32_t>> by_thread(result.threads.size());
  for (uint32_t i = result.first_device_event; i < result.events.size(); ++i) {
    const EdgeEvent& event = result.events[i];
    if (event.device.type != kVulkan) continue;
    const auto found = thread_numbers.find(event.thread);
    if (found != thread_numbers.end()) by_thread[found->second].push_back(i);
  }
  return by_thread;
}

}  // namespace

void adjust_vulkan_timestamps(ResultData& result) {
  result.adjusted = true;
  const std::vector<std::vector<uint32_t>> vulkan = vulkan_by_thread(result);
  std::vector<EdgeEvent> events;
  events.reserve(result.events.size());
  std::vector<uint32_t> now_at(result.events.size(), kNoEvent);  // the new index of each event
  const auto take = [&](uint32_t event) -> EdgeEvent& {
    now_at[event] = static_cast<uint32_t>(events.size());
    return events.emplace_back(result.events[event]);
  };

  std::vector<ThreadInfo> threads = result.threads;
  for (size_t i = 0; i < threads.size(); ++i) {
    const ThreadInfo& before = result.threads[i];
    threads[i].first_event = static_cast<uint32_t>(events.size());
    threads[i].event_count = before.event_count + static_cast<uint32_t>(vulkan[i].size());
    if (vulkan[i].empty()) {
      for (uint32_t k = 0; k < before.event_count; ++k) take(before.first_event + k);
      continue;
    }
    const AdjustedThread adjusted(result, before, vulkan[i]);
    adjusted.place([&](uint32_t event, uint32_t parent, uint64_t start, uint64_t end) {
      EdgeEvent& moved = take(event);
      moved.start_ns = start;
      moved.end_ns = end;
      moved.parent = parent;
    });
  }
  const auto first_device_event = static_cast<uint32_t>(events.size());
  for (uint32_t i = result.first_device_event; i < result.events.size(); ++i)
    if (now_at[i] == kNoEvent) take(i);

  const auto follow = [&](uint32_t& event) { event = event < now_at.size() ? now_at[event] : kNoEvent; };
  for (EdgeEvent& event : events) {
    follow(event.parent);
    follow(event.caused_by);
    event.first_child = event.next_sibling = kNoEvent;
  }
  for (EdgeAllocation& allocation : result.allocations) follow(allocation.event);
  result.events = std::move(events);
  result.threads = std::move(threads);
  result.first_device_event = first_device_event;
  link_tree(result.events);
}

}  // namespace kymo::edge
