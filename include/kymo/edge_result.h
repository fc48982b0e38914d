// The results of an EdgeProfiler as data: events as a tree, averages, tables, memory over time.
//
//   kymo::EdgeResult result = profiler.disable_profiler();
//   std::cout << result.table("self_cpu_time_total", 10);
//   for (const kymo::EdgeEvent& event : result.events()) …
//
// A result is a handle to data that does not change any more: copies are cheap, and any thread may read it. Every
// string_view from it stays valid as long as any copy of it. Times are nanoseconds since 1970.
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
  Operator,  // an operator of the module
  User,      // a scope that the program named
  Backward,  // from automatic differentiation
  Function,  // a function of the module's own language
  Backend,   // measured by a backend itself (record_backend_event)
  Device,    // ran on a device
};

// The count of one performance event during one EdgeEvent, without the profiler's own work.
struct EdgeCount {
  double inclusive = 0;  // with everything that ran inside it on its thread
  double exclusive = 0;
  bool scaled = false;  // extrapolated: the CPU counted it, or what ran inside it, only part of the time
  bool known = false;   // false: it was not counted
};

struct EdgeEvent {
  static constexpr uint32_t kNone = UINT32_MAX;

  std::string_view name;
  EdgeKind kind = EdgeKind::Operator;
  bool finished = true;  // false: it was still open when the profiler stopped
  uint64_t start_ns = 0, end_ns = 0;
  // The original times, if start_ns and end_ns were moved (adjust_vulkan_timestamps). Otherwise the same.
  uint64_t raw_start_ns = 0, raw_end_ns = 0;
  uint64_t self_ns = 0;   // without the events inside it
  uint64_t thread = 0;    // the system's id of its thread; for a device event: of the thread that requested it
  edge::DeviceId device;  // only for a device event
  uint64_t queue = 0;
  uint64_t queued_ns = 0;      // for a device event: when the host requested it; 0: unknown
  uint32_t caused_by = kNone;  // for a device event: the operation that requested it, as an index into events()

  // The tree: indices into EdgeResult::events(). Children of one event are linked by next_sibling.
  uint32_t parent = kNone, first_child = kNone, next_sibling = kNone;
  uint32_t depth = 0;

  int64_t debug_handle = -1;
  int64_t sequence = -1;
  uint64_t forward_thread = 0;
  uint64_t engine_id = 0;
  std::string_view module_hierarchy;  // with_modules
  std::string_view call_stack;        // with_stack: the module's own stack
  std::string_view backend;           // only for a backend event

  // with_flops. If an operator calls others, only the outermost one with a known count is counted. So the sum over all
  // events is the total of the run.
  uint64_t flops = 0;
  int64_t memory_bytes = 0, self_memory_bytes = 0;  // profile_memory: allocated minus freed while it ran
  uint32_t inputs_at = 0, inputs_size = 0;          // EdgeResult::inputs()
  uint32_t stack = kNone;                           // EdgeResult::stack()
  uint32_t counts = kNone;                          // EdgeResult::counts()

  uint64_t duration_ns() const { return end_ns - start_ns; }
};

// One input of an operation.
struct EdgeInput {
  std::string_view type;  // "float", "long int", "TensorList", "Scalar", "ScalarList"; "" if it has no type
  std::vector<int64_t> sizes, strides;  // only for a tensor
  std::vector<EdgeInput> tensors;       // only for a list of tensors
  std::string value;                    // only for a value that is not a tensor: "1", "0.5", "True", "[3, 3]"
};

struct EdgeFrame {
  std::string function, file, module;
  uint32_t line = 0;
  bool inlined = false;  // into the frame after it
};

struct EdgeAllocation {
  uint64_t time_ns = 0;
  uint64_t address = 0;
  int64_t bytes = 0;                                 // negative: freed
  uint64_t total_allocated = 0, total_reserved = 0;  // from the allocator, or counted since the profiler began
  edge::DeviceId device;
  uint64_t thread = 0;
  uint32_t event = EdgeEvent::kNone;  // the innermost open event, as an index into events()
  bool out_of_memory = false;         // the allocation failed
};

// How much memory of one device was in use over time, counted since the profiler began.
struct EdgeMemory {
  struct Point {
    uint64_t time_ns;
    uint64_t bytes;
  };
  edge::DeviceId device;
  std::vector<Point> timeline;  // after each allocation and each free
  uint64_t peak_bytes = 0, peak_time_ns = 0;
  std::vector<uint32_t> alive_at_peak;  // indices into allocations(), largest first
  std::vector<uint32_t> never_freed;    // the same
  uint64_t unknown_frees = 0;           // frees of memory that was allocated before the profiler began
};

// How events are grouped.
enum class EdgeGroup : uint8_t { Name = 0, Shape = 1, Module = 2, ShapeAndModule = 3 };

// All events with one name, kind and backend (optionally also with equal input shapes, or one place in the module).
struct EdgeAverage {
  std::string_view name;
  EdgeKind kind = EdgeKind::Operator;
  std::string shapes;                 // "[[64, 64], [64, 64], []]"; only if grouped by shape
  std::string_view module_hierarchy;  // only if grouped by module
  std::string_view backend;
  uint64_t calls = 0;
  uint64_t total_ns = 0;  // an event inside another event of the same group is not counted again
  uint64_t self_ns = 0;
  int64_t memory_bytes = 0, self_memory_bytes = 0;
  uint64_t flops = 0;
  std::vector<EdgeCount> counts;  // in the order of EdgeResult::event_names()
};

// An operator whose floating-point operations are not known, so that the sum over all events is too small.
struct EdgeUncounted {
  std::string_view name;
  uint64_t calls = 0;
};

class KYMO_API EdgeResult {
 public:
  EdgeResult() = default;  // empty
  explicit EdgeResult(std::shared_ptr<const edge::ResultData> data) : data_(std::move(data)) {}

  // Sorted by thread, then by begin time: a parent comes before its children. Device events come last.
  std::span<const EdgeEvent> events() const;
  std::vector<EdgeInput> inputs(const EdgeEvent& event) const;      // report_input_shapes
  std::vector<EdgeFrame> stack(const EdgeEvent& event) const;       // with_stack: C++, innermost first
  std::span<const EdgeCount> counts(const EdgeEvent& event) const;  // one for each of event_names(), or empty
  std::span<const std::string> event_names() const;

  std::span<const EdgeAllocation> allocations() const;  // sorted by time
  std::vector<EdgeMemory> memory() const;               // one for each device

  std::vector<EdgeAverage> key_averages(EdgeGroup by = EdgeGroup::Name) const;  // largest self time first

  // The averages as text, like PyTorch's key_averages().table(). `sort_by` is "self_cpu_time_total", "cpu_time_total",
  // "cpu_time", "device_time_total", "self_cpu_memory_usage", "cpu_memory_usage", "flops", "count", "name", or the name
  // of a performance event; anything else throws kymo::InvalidArgument. `top` is the max number of rows.
  std::string table(std::string_view sort_by = "self_cpu_time_total", size_t top = 100,
                    EdgeGroup by = EdgeGroup::Name) const;

  // with_flops: the operators that were not counted, the most frequent first. Operators that only make, move or
  // describe tensors are not in the list.
  std::span<const EdgeUncounted> without_flops() const;

  uint64_t start_ns() const, end_ns() const;  // when the profiler recorded

  // What was lost or changed: "2 backend events ended before they began". Empty: nothing.
  std::vector<std::string> losses() const;

  const edge::ResultData* data() const { return data_.get(); }

 private:
  std::shared_ptr<const edge::ResultData> data_;
};

}  // namespace kymo
