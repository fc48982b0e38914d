// What an EdgeProfiler found, as data: events as a tree, averages, tables, memory over time.
//
//   kymo::EdgeResult result = profiler.disable_profiler();
//   std::cout << result.table("self_cpu_time_total", 10);
//   for (const kymo::EdgeEvent& event : result.events()) …
//
// A result is a handle on what no one changes any more: copying it is cheap, and any thread may read it. Texts that it
// hands out as string_view live as long as any copy of it. Times are nanoseconds since 1970.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kymo/edge_module.h"
#include "kymo/export.h"

namespace kymo {

namespace edge {
struct ResultData;
}

enum class EdgeKind : uint8_t {
  Operator,  // of the module
  User,      // a scope that the program named
  Backward,  // of the automatic differentiation
  Function,  // of the module's own language
  Backend,   // measured by a backend itself (record_backend_event)
  Device,    // ran on a device
};

// A performance event's count over one EdgeEvent.
struct EdgeCount {
  double inclusive = 0;  // with what ran inside it on its thread
  double exclusive = 0;
  bool scaled = false;  // the processor counted only part of the time, of it or of what ran inside it: extrapolated
  bool known = false;   // it was counted at all
};

struct EdgeEvent {
  static constexpr uint32_t kNone = UINT32_MAX;

  std::string_view name;
  EdgeKind kind = EdgeKind::Operator;
  bool finished = true;  // false: it was still open when the profiler stopped
  uint64_t start_ns = 0, end_ns = 0;
  // As they came, where start_ns and end_ns were moved (adjust_vulkan_timestamps); else the same.
  uint64_t raw_start_ns = 0, raw_end_ns = 0;
  uint64_t self_ns = 0;   // without what is inside it
  uint64_t thread = 0;    // the system's id of its thread; of a device's event: the thread that asked for it
  edge::DeviceId device;  // of a device's event
  uint64_t queue = 0;
  uint64_t queued_ns = 0;      // of a device's event: when the host asked for it; 0: not told
  uint32_t caused_by = kNone;  // of a device's event: the operation that asked for it, an index into events()

  // The tree: indices into EdgeResult::events(). Children of one event are linked by next_sibling.
  uint32_t parent = kNone, first_child = kNone, next_sibling = kNone;
  uint32_t depth = 0;

  int64_t debug_handle = -1;
  int64_t sequence = -1;
  uint64_t forward_thread = 0;
  uint64_t engine_id = 0;
  std::string_view module_hierarchy;  // with_modules
  std::string_view call_stack;        // with_stack: the module's own
  std::string_view backend;           // of a backend's event

  // with_flops. An operator that calls others is counted once, at the outermost one whose number is known: the sum over
  // all events is the run's.
  uint64_t flops = 0;
  int64_t memory_bytes = 0, self_memory_bytes = 0;  // profile_memory: taken less given back while it ran
  uint32_t inputs_at = 0, inputs_size = 0;          // EdgeResult::inputs()
  uint32_t stack = kNone;                           // EdgeResult::stack()
  uint32_t counts = kNone;                          // EdgeResult::counts()

  uint64_t duration_ns() const { return end_ns - start_ns; }
};

// One input of an operation.
struct EdgeInput {
  std::string_view type;  // "float", "long int", "TensorList", "Scalar", "ScalarList", "" for what has none
  std::vector<int64_t> sizes, strides;  // of a tensor
  std::vector<EdgeInput> tensors;       // of a list of them
  std::string value;                    // of what is not a tensor: "1", "0.5", "True", "[3, 3]"
};

struct EdgeFrame {
  std::string function, file, module;
  uint32_t line = 0;
  bool inlined = false;  // into the frame after it
};

struct EdgeAllocation {
  uint64_t time_ns = 0;
  uint64_t address = 0;
  int64_t bytes = 0;                                 // negative: given back
  uint64_t total_allocated = 0, total_reserved = 0;  // as the allocator said, or counted since the profiler began
  edge::DeviceId device;
  uint64_t thread = 0;
  uint32_t event = EdgeEvent::kNone;  // the innermost one that was open: an index into events()
  bool out_of_memory = false;         // it was wanted and not given
};

// How much memory of one device was in use over time, counted from the profiler's begin.
struct EdgeMemory {
  struct Point {
    uint64_t time_ns;
    uint64_t bytes;
  };
  edge::DeviceId device;
  std::vector<Point> timeline;  // after each allocation and each return
  uint64_t peak_bytes = 0, peak_time_ns = 0;
  std::vector<uint32_t> alive_at_peak;  // indices into allocations(), largest first
  std::vector<uint32_t> never_freed;    // likewise
  uint64_t unknown_frees = 0;           // given back, and taken before the profiler began
};

// What events are put together by.
enum class EdgeGroup : uint8_t { Name = 0, Shape = 1, Module = 2, ShapeAndModule = 3 };

// Events of one name, kind and backend (and, where asked for, of equal input shapes, of one place in the module).
struct EdgeAverage {
  std::string_view name;
  EdgeKind kind = EdgeKind::Operator;
  std::string shapes;                 // "[[64, 64], [64, 64], []]", where grouped by them
  std::string_view module_hierarchy;  // likewise
  std::string_view backend;
  uint64_t calls = 0;
  uint64_t total_ns = 0;  // an event inside another of the same group counts once
  uint64_t self_ns = 0;
  int64_t memory_bytes = 0, self_memory_bytes = 0;
  uint64_t flops = 0;
  std::vector<EdgeCount> counts;  // as EdgeResult::event_names()
};

class KYMO_API EdgeResult {
 public:
  EdgeResult() = default;  // empty
  explicit EdgeResult(std::shared_ptr<const edge::ResultData> data) : data_(std::move(data)) {}

  // By thread, and of a thread in the order they began: a parent stands before its children. The device's after them.
  std::span<const EdgeEvent> events() const;
  std::vector<EdgeInput> inputs(const EdgeEvent& event) const;      // report_input_shapes
  std::vector<EdgeFrame> stack(const EdgeEvent& event) const;       // with_stack: C++, innermost first
  std::span<const EdgeCount> counts(const EdgeEvent& event) const;  // one for each of event_names(), or none
  std::span<const std::string> event_names() const;

  std::span<const EdgeAllocation> allocations() const;  // in the order of their times
  std::vector<EdgeMemory> memory() const;               // a device each

  std::vector<EdgeAverage> key_averages(EdgeGroup by = EdgeGroup::Name) const;  // most self time first

  // The averages as text, as PyTorch's key_averages().table(). `sort_by` is "self_cpu_time_total", "cpu_time_total",
  // "cpu_time", "device_time_total", "self_cpu_memory_usage", "cpu_memory_usage", "flops", "count", "name", or the name
  // of a performance event; anything else throws kymo::InvalidArgument. `top`: as many rows at most.
  std::string table(std::string_view sort_by = "self_cpu_time_total", size_t top = 100,
                    EdgeGroup by = EdgeGroup::Name) const;

  uint64_t start_ns() const, end_ns() const;  // when it was on

  // What did not get in, or not as it came: "2 backend events ended before they began". Empty: nothing.
  std::vector<std::string> losses() const;

  const edge::ResultData* data() const { return data_.get(); }

 private:
  std::shared_ptr<const edge::ResultData> data_;
};

}  // namespace kymo
