// Small results for tests, built by hand.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "edge/result.h"
#include "kymo/edge_engine.h"

namespace kymo::edge::testing {

inline constexpr uint64_t kTestStart = 1'800'000'000'000'000'000;  // nanoseconds since 1970

// Times are nanoseconds from kTestStart on.
class TestResult {
 public:
  TestResult() {
    data.pid = 77;
    data.start_ns = kTestStart;
    data.end_ns = kTestStart + 1'000'000;
  }

  // The next events belong to this thread.
  void thread(uint64_t id, std::string name) {
    data.threads.push_back({id, std::move(name), static_cast<uint32_t>(data.events.size()), 0});
  }
  // `parent` is the result of an earlier call.
  uint32_t event(std::string_view name, uint64_t start, uint64_t end, uint32_t parent = EdgeEvent::kNone,
                 EdgeKind kind = EdgeKind::Operator) {
    EdgeEvent event;
    event.name = data.keep(name);
    event.kind = kind;
    event.start_ns = event.raw_start_ns = kTestStart + start;
    event.end_ns = event.raw_end_ns = kTestStart + end;
    event.parent = parent;
    event.thread = data.threads.back().thread;
    data.events.push_back(event);
    ++data.threads.back().event_count;
    data.first_device_event = static_cast<uint32_t>(data.events.size());
    return data.first_device_event - 1;
  }
  // Call it after the last event of the last thread.
  uint32_t device_event(std::string_view name, uint64_t start, uint64_t end, DeviceId device, uint64_t queue) {
    const uint32_t first = data.first_device_event;
    const uint32_t index = event(name, start, end, EdgeEvent::kNone, EdgeKind::Device);
    --data.threads.back().event_count;
    data.first_device_event = first;
    data.events[index].device = device;
    data.events[index].queue = queue;
    return index;
  }
  void inputs(uint32_t event, const Inputs& inputs) {
    data.events[event].inputs_at = static_cast<uint32_t>(data.inputs.size());
    data.events[event].inputs_size = static_cast<uint32_t>(inputs.bytes().size());
    data.inputs.insert(data.inputs.end(), inputs.bytes().begin(), inputs.bytes().end());
  }
  void allocation(uint64_t time, uint64_t address, int64_t bytes, uint64_t allocated, uint64_t reserved = 0) {
    EdgeAllocation one;
    one.time_ns = kTestStart + time;
    one.address = address;
    one.bytes = bytes;
    one.total_allocated = allocated;
    one.total_reserved = reserved;
    one.thread = data.threads.back().thread;
    data.allocations.push_back(one);
  }
  EdgeEvent& operator[](uint32_t event) { return data.events[event]; }

  ResultData data;
};

}  // namespace kymo::edge::testing
