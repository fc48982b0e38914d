// All allocations and frees in a trace, sorted by time, over all its threads and processes.
//
//   device runtime, kymo_allocation   the field "bytes", often "device" and "category"; "device" names the memory
//   scope-guard profiler              "Bytes", "Device Type", "Device Id"; the stack of the range around it
//   imported snapshots                "bytes", "device", "stack_id": a number of the trace's stacks
//   heap hook                         "malloc" and "free" in the memory "heap", with stacks (docs/heap.md)
//
// Holds one chunk per track, and only while its time range is read, so memory does not grow with the trace.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "analyze/memory/category.h"
#include "analyze/memory/stacks.h"
#include "trace/reader.h"

namespace kymo::memory {

// The memory of one device in one process. Addresses are unique within it.
struct MemoryInfo {
  uint32_t process = 0;  // index into processes
  std::string device;
};

struct ProcessInfo {
  uint64_t pid = 0, parent_pid = 0;
  std::string name;                                      // of the program
  int64_t end_ns = std::numeric_limits<int64_t>::max();  // when it had ended, if known
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
