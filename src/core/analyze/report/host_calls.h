// The calls and flows of threads that say what a thread or a queue waited for.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "analyze/report/events.h"

namespace kymo::analyze {

// A call in which a thread waits for a device: cudaStreamSynchronize and the like.
bool is_device_wait(std::string_view category, std::string_view name);
// For the name of such a call: it waits for all queues of a device, and not for a stream or an event of it.
bool waits_for_whole_device(std::string_view name);

enum class CallKind : uint8_t {
  Plain,
  DeviceWait,  // for a whole device
  QueueWait,   // for one stream or event
  Copy,        // it waits for its own operation if it is not asynchronous
  AsyncCopy,   // or if the memory of the host is pageable
  EventWait,   // cudaStreamWaitEvent: not the thread waits, but what it launches next on a queue
  Waiting,     // a range whose name says that it waits: "future.get", "thread.join"
  Autograd,    // a function of PyTorch's backward pass
  Gradient,    // PyTorch's flow from an operator to its gradient. It hands over nothing
};
CallKind call_kind(std::string_view category, std::string_view name);

// The kind of each class of a writer, found once.
class CallKinds {
 public:
  CallKind of(const TrackOfTrace& track, uint32_t class_id);

 private:
  std::map<uint32_t, std::vector<uint8_t>> usual_;  // by writer and class; 0: not known yet
  std::map<std::pair<uint32_t, uint32_t>, CallKind> unusual_;
};

struct HostCall {
  int64_t begin = 0, end = 0;
  uint64_t correlation = 0;
  uint32_t track = 0;
  CallKind kind = CallKind::Plain;
};

struct FlowPoint {
  uint32_t writer = 0, track = 0;
  uint64_t id = 0;
  int64_t time = 0;
  bool receives = false, sends = false;
};

struct HostCalls {
  std::vector<HostCall> waits;        // DeviceWait, QueueWait
  std::vector<HostCall> copies;       // Copy, AsyncCopy
  std::vector<HostCall> event_waits;  // EventWait
  std::vector<HostCall> waiting;      // Waiting
  std::set<uint32_t> autograd;        // tracks of the threads of the backward pass
  std::vector<FlowPoint> flows;

  void add(CallKind kind, uint32_t track, const TrackRange& range);
};

}  // namespace kymo::analyze
