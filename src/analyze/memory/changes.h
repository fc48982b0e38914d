// Everything in a trace that took memory or gave it back, in the order of time, over all its threads and processes.
//
//   device runtime, kymo_allocation   a field "bytes", often "device", "category"; "device" names the memory
//   scope-guard profiler              "Bytes", "Device Type", "Device Id"; the stack of the range around it
//   heap hook                         "malloc" and "free" of the memory "heap", with stacks (docs/heap.md)
//
// One chunk of a track is held at a time and only while its time has come, so memory does not grow with the trace.
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

// One device's memory, as one process sees it: addresses mean something within it.
struct MemoryInfo {
  uint32_t process = 0;  // an index of processes
  std::string device;
};

struct ProcessInfo {
  uint64_t pid = 0;
  std::string name;                                      // of the program
  int64_t end_ns = std::numeric_limits<int64_t>::max();  // when it had ended, as far as is known
};

struct ThreadInfo {
  uint32_t process = 0;
  uint64_t tid = 0;
  std::string name;
};

// What the numbers in changes stand for. Filled while they are read.
struct Tables {
  std::vector<ProcessInfo> processes;
  std::vector<MemoryInfo> memories;
  std::vector<ThreadInfo> threads;
  std::vector<std::string> ranges{""};  // names ("step {}"); 0: in none
  std::set<std::string> other_devices;  // that were not asked for
  Stacks stacks;
};

struct MemoryChange {
  int64_t time_ns = 0;  // since 1970
  uint64_t address = 0;
  uint64_t bytes = 0;  // of a sample: what it stands for; of a return: what it says, 0 where it says nothing
  uint32_t memory = 0, thread = 0;
  StackId stack = 0;
  uint32_t range = 0;      // the innermost that was open on the thread
  uint32_t outermost = 0;  // which range without one around it: a number of its own each time; 0: none
  Category category = Category::Unknown;
  bool is_return = false;
  bool sampled = false;
};

class Changes {
 public:
  // `device`: of this memory alone; empty: of all. The reader must outlive this.
  explicit Changes(const trace::Reader& reader, std::string device = {});
  ~Changes();
  Changes(const Changes&) = delete;
  Changes& operator=(const Changes&) = delete;

  // All changes of the next moment, by thread: more than one only where clocks are too coarse to tell. Empty: the end.
  // Good until the next call.
  std::span<const MemoryChange> next();

  // The span in which changes can be: of all tracks that have points.
  int64_t begin_ns() const;
  int64_t end_ns() const;

  // The most blocks that can be alive at once in a trace of this size: every one takes some of its bytes, however well
  // they are packed. A forged trace may claim more.
  uint64_t most_alive() const;

  Tables& tables();
  const std::vector<trace::Problem>& problems() const;  // what could not be read so far

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kymo::memory
