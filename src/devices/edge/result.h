// The data of an EdgeResult. Created once by build.h, then never changed. result.cc has the functions of EdgeResult.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_set>
#include <vector>

#include "kymo/edge_module.h"
#include "kymo/edge_result.h"

namespace kymo::edge {

struct ThreadInfo {
  uint64_t thread = 0;
  std::string name;
  uint32_t first_event = 0, event_count = 0;  // in ResultData::events; its tree contains only these
};

struct ResultData {
  uint64_t pid = 0;
  uint64_t start_ns = 0, end_ns = 0;
  // First the events of threads: by thread, then by begin, parents before children. Then those of devices, by begin.
  std::vector<EdgeEvent> events;
  std::vector<ThreadInfo> threads;
  uint32_t first_device_event = 0;

  // In the format of Inputs in kymo/edge_engine.h; EdgeEvent::inputs_at, inputs_size. Equal inputs are stored once, so
  // results for them can be cached by inputs_at. edge/inputs.h reads them.
  std::vector<std::byte> inputs;
  std::vector<std::vector<EdgeFrame>> stacks;  // EdgeEvent::stack
  std::vector<std::string> event_names;
  std::vector<EdgeCount> counts;            // EdgeEvent::counts: the first of event_names.size()
  std::vector<EdgeAllocation> allocations;  // by time; their `event` is an index into `events` too
  std::vector<std::string> losses;
  std::vector<EdgeUncounted> without_flops;

  // What was requested: the writers put it into the file.
  bool inputs_wanted = false, memory_wanted = false, stack_wanted = false, flops_wanted = false, modules_wanted = false,
       adjusted = false;
  std::vector<std::string_view> options() const;  // their names, as PyTorch spells them

  // For an event of this result; empty if there are none. Bounds are checked, so events of other results are harmless.
  std::span<const std::byte> inputs_of(const EdgeEvent& event) const {
    const bool good = event.inputs_at <= inputs.size() && event.inputs_size <= inputs.size() - event.inputs_at;
    return good ? std::span(inputs).subspan(event.inputs_at, event.inputs_size) : std::span<const std::byte>{};
  }
  std::span<const EdgeCount> counts_of(const EdgeEvent& event) const {
    const bool good = event.counts <= counts.size() && event_names.size() <= counts.size() - event.counts;
    return good ? std::span(counts).subspan(event.counts, event_names.size()) : std::span<const EdgeCount>{};
  }

  // Equal texts are stored once: two of these are equal if they begin at the same address.
  std::string_view keep(std::string_view text) { return *texts.emplace(text).first; }
  std::unordered_set<std::string> texts;  // what the views of events point to; nodes do not move
};

// A text of a result with a number, as the key of an unordered map: its address stands for the text.
struct TextKey {
  const char* text;
  uint64_t number;
  bool operator==(const TextKey&) const = default;

  struct Hash {
    size_t operator()(const TextKey& key) const {
      return (reinterpret_cast<uintptr_t>(key.text) ^ key.number << 32 ^ key.number >> 32) * 0x9e3779b97f4a7c15u >> 16;
    }
  };
};

// Devices in the order of their numbers.
struct DeviceOrder {
  bool operator()(const DeviceId& one, const DeviceId& other) const {
    return std::tie(one.type, one.index) < std::tie(other.type, other.index);
  }
};

// Sizes are untrusted: a sum that does not fit wraps around, which is defined for unsigned numbers.
inline int64_t wrapping_sum(int64_t one, int64_t other) {
  return static_cast<int64_t>(static_cast<uint64_t>(one) + static_cast<uint64_t>(other));
}

// Makes the tree of events. Input: `parent` of each event, an index into `events`; a parent comes before its children.
// Sets first_child, next_sibling, depth and self_ns. Children are linked in their order. The part of a child outside of
// its parent's time does not count against the parent, and time that several children cover together counts once.
void link_tree(std::span<EdgeEvent> events);

// Goes from an event that was just visited to the next one in the tree: its first child, else the next sibling of it or
// of the nearest event above it that has one. Calls `leave` for each event that is done, innermost first. It does not
// go to siblings of roots: at the end of a root's tree it returns kNone.
template <class Leave>
uint32_t next_in_tree(std::span<const EdgeEvent> events, uint32_t at, Leave leave) {
  if (events[at].first_child != EdgeEvent::kNone) return events[at].first_child;
  while (true) {
    leave(at);
    if (events[at].parent == EdgeEvent::kNone) return EdgeEvent::kNone;
    if (events[at].next_sibling != EdgeEvent::kNone) return events[at].next_sibling;
    at = events[at].parent;
  }
}

}  // namespace kymo::edge
