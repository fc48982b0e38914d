// All allocations and frees in a trace, sorted by time, over all its threads and processes.
//
//   device runtime, kymo_allocation   the field "bytes", often "device" and "category"; "device" names the memory
//   scope-guard profiler              "Bytes", "Device Type", "Device Id"; the stack of the range around it
//   imported snapshots                "bytes", "device", "stack_id": a number of the trace's stacks
//   heap hook                         "malloc" and "free" in the memory "heap", with stacks (docs/heap.md)
//
// Holds one chunk per track, and only while its time range is read, so memory does not grow with the trace.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/memory/stacks.h"
#include "trace/reader.h"

namespace kymo::memory {

// What memory is used for: the eight categories of memory timelines of training.

// In the order of exported rows.
enum class Category : uint8_t {
  Parameter,
  OptimizerState,
  Input,
  Temporary,
  Activation,
  Gradient,
  AutogradDetail,
  Unknown,
};
inline constexpr size_t kCategories = 8;

using BytesByCategory = std::array<uint64_t, kCategories>;

std::string_view category_name(Category category);   // "PARAMETER" … "AUTOGRAD_DETAIL", "unknown"
std::string_view category_label(Category category);  // human-readable: "parameter" … "autograd detail", "unknown"

// Finds a category by its name. Case is ignored, and '_', '-' or ' ' may separate words. Unknown for any other text.
Category category_named(std::string_view name);

// The memory fields of a class of points. They are found by their names, once per class.

using Value = trace::ValueCursor::Value;

inline constexpr std::string_view kHeap = "heap";           // the device of memory from the C library
inline constexpr std::string_view kUnnamedMemory = "host";  // if no device is given

class PointFields {
 public:
  explicit PointFields(const trace::EventClass& event_class);

  // An instant that describes one more stack frame, or a loaded file.
  bool is_stack_node() const { return is_stack_ && node_ >= 0 && parent_ >= 0 && address_ >= 0; }
  bool is_loaded_file() const { return is_stack_ && path_ >= 0 && base_ >= 0 && size_ >= 0; }
  // A line of a Python function, and what the thread runs from then on (inject/python_stack.h).
  bool is_python_line() const { return is_stack_ && address_ >= 0 && name_ >= 0 && file_ >= 0 && line_ >= 0; }
  bool is_python_stack() const { return is_stack_ && node_ >= 0 && parent_ < 0; }
  bool is_heap() const { return is_heap_; }

  // Values in a row of the class. A missing value is 0 or empty. `bytes` is never negative.
  uint64_t bytes(std::span<const Value> row) const;
  uint64_t weight(std::span<const Value> row) const { return number(row, weight_); }
  std::optional<uint64_t> node(std::span<const Value> row) const;
  uint64_t stack(std::span<const Value> row) const { return number(row, stack_); }  // in the trace's table; 0: none
  uint64_t parent(std::span<const Value> row) const { return number(row, parent_); }
  uint64_t address(std::span<const Value> row) const { return number(row, address_); }
  uint64_t base(std::span<const Value> row) const { return number(row, base_); }
  uint64_t size(std::span<const Value> row) const { return number(row, size_); }
  std::string_view path(std::span<const Value> row) const { return text(row, path_); }
  std::string_view build_id(std::span<const Value> row) const { return text(row, build_id_); }
  symbols::Frame python_line(std::span<const Value> row) const;
  std::string_view category(std::span<const Value> row) const { return text(row, category_); }
  std::string device(std::span<const Value> row) const;  // "cuda:0", "cpu", "heap", "host"

 private:
  static uint64_t number(std::span<const Value> row, int field);
  static std::string_view text(std::span<const Value> row, int field);

  bool is_stack_ = false, is_heap_ = false;
  int bytes_ = -1, weight_ = -1, node_ = -1, stack_ = -1, parent_ = -1, address_ = -1, base_ = -1, size_ = -1;
  int name_ = -1, file_ = -1, line_ = -1;
  int path_ = -1, build_id_ = -1, category_ = -1, device_ = -1, device_type_ = -1, device_id_ = -1;
};

// The memory of one device in one process. Addresses are unique within it.
struct MemoryInfo {
  uint32_t process = 0;  // index into processes
  std::string device;
};

struct ProcessInfo {
  uint64_t pid = 0, parent_pid = 0;
  std::string name;                                      // of the program
  int64_t end_ns = std::numeric_limits<int64_t>::max();  // when it had ended, if known
  int64_t begin_ns = std::numeric_limits<int64_t>::max();
  bool has_memory = false;   // false: the trace has only other events of it, such as samples
  bool ran_another = false;  // it ended by exec: its memory is gone, and was not forgotten
};

struct ThreadInfo {
  uint32_t process = 0;
  uint64_t tid = 0;
  std::string name;
};

// What the numbers in changes refer to. Filled while the changes are read.
struct Tables {
  std::vector<ProcessInfo> processes;
  std::vector<MemoryInfo> memories;
  std::vector<ThreadInfo> threads;
  std::vector<std::string> ranges{""};  // names ("step {}"); 0: no range
  std::set<std::string> other_devices;  // devices that were not selected
  Stacks stacks;
};

struct MemoryChange {
  int64_t time_ns = 0;  // since 1970
  uint64_t point = 0;   // convert::Event::number
  uint64_t address = 0;
  uint64_t bytes = 0;  // of a sample: what it represents; of a free: as recorded, 0 if not recorded
  uint32_t memory = 0, thread = 0;
  StackId stack = 0;
  uint32_t range = 0;      // the innermost open range of the thread
  uint32_t outermost = 0;  // number of the outermost range, different for each execution; 0: none
  Category category = Category::Unknown;
  bool is_return = false;
  bool sampled = false;
};

class Changes {
 public:
  // `device` selects one memory; empty: all. The reader must outlive this object.
  explicit Changes(const trace::Reader& reader, std::string device = {});
  ~Changes();
  Changes(const Changes&) = delete;
  Changes& operator=(const Changes&) = delete;

  // All changes of the next point in time, sorted by thread. More than one only if the clocks are too coarse to
  // distinguish them. Empty at the end. Valid until the next call.
  std::span<const MemoryChange> next();

  // The time span of all tracks that have points. All changes are in it.
  int64_t begin_ns() const;
  int64_t end_ns() const;

  // The max number of blocks that can be alive at once in a trace of this size: each block needs some bytes of the
  // file, even with the best compression. A forged trace may claim more.
  uint64_t most_alive() const;

  Tables& tables();
  const std::vector<trace::Problem>& problems() const;  // what could not be read so far

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kymo::memory
