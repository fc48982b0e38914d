// The heap in a trace, read back: what `kymo record --memory` recorded of a program of unmodified/.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/test_tree.h"
#include "readback.h"
#include "support.h"

namespace kymo::e2e {

// The same values as in unmodified/heap.cc.
inline constexpr uint64_t kEarly = 70'001, kApple = 70'003, kPear = 70'009, kPlum = 70'019, kCalloc = 70'020,
                          kAligned = 80'064;
inline constexpr uint64_t kFirstNode = 16, kRoot = 1, kCutElsewhere = 3;

struct HeapEvent {
  bool is_return = false;
  uint64_t time = 0, address = 0, bytes = 0, node = 0, weight = 0, pid = 0;
  uint32_t track = 0;
  std::vector<uint64_t> stack;  // innermost first
  uint64_t root = 0;            // the root node of the stack
};

struct Module {
  std::string path, build_id;
  uint64_t base = 0, size = 0;
};

struct Heap {
  std::vector<HeapEvent> events;  // sorted by time
  std::vector<Module> modules;
  size_t unknown_nodes = 0, code_of_no_module = 0;

  size_t count(uint64_t bytes, uint64_t pid = 0) const {
    return std::count_if(events.begin(), events.end(), [&](const HeapEvent& event) {
      return !event.is_return && event.bytes == bytes && (pid == 0 || event.pid == pid);
    });
  }
};

inline uint64_t argument(const EventDetail& detail, const std::string& name) {
  for (const Argument& argument : detail.arguments)
    if (argument.name == name) return argument.bits;
  return 0;
}
inline std::string text_argument(const EventDetail& detail, const std::string& name) {
  for (const Argument& argument : detail.arguments)
    if (argument.name == name) return argument.text;
  return {};
}

// Every node must be recorded before it is used, and every address must be in a module.
inline Heap heap_of(const Readback& trace) {
  Heap heap;
  std::map<std::pair<uint32_t, uint64_t>, std::pair<uint64_t, uint64_t>> nodes;  // by track and node
  std::vector<uint64_t> addresses;
  for (const Event& point : trace.points) {
    const EventDetail& detail = trace.detail_of(point);
    if (trace.name_of(point) == "stack node") {
      nodes[{point.track, argument(detail, "node")}] = {argument(detail, "parent"), argument(detail, "address")};
      addresses.push_back(argument(detail, "address"));
    } else if (trace.name_of(point) == "module") {
      heap.modules.push_back({text_argument(detail, "path"), text_argument(detail, "build_id"),
                              argument(detail, "base"), argument(detail, "size")});
    } else if (trace.name_of(point) == "malloc" || trace.name_of(point) == "free") {
      HeapEvent event;
      event.is_return = point.kind == trace::PointKind::Free;
      event.time = point.start;
      event.address = point.id;
      event.track = point.track;
      event.pid = trace.pid_of(point);
      event.bytes = argument(detail, "bytes");
      event.node = argument(detail, "node");
      event.weight = argument(detail, "weight");
      uint64_t node = event.node;
      for (; node >= kFirstNode && event.stack.size() < 10'000;) {
        const auto found = nodes.find({point.track, node});
        if (found == nodes.end()) {
          ++heap.unknown_nodes;
          break;
        }
        event.stack.push_back(found->second.second);
        node = found->second.first;
      }
      event.root = node;
      heap.events.push_back(std::move(event));
    }
  }
  for (const uint64_t address : addresses)
    heap.code_of_no_module += std::none_of(heap.modules.begin(), heap.modules.end(), [&](const Module& module) {
      return address > module.base && address <= module.base + module.size;
    });
  std::stable_sort(heap.events.begin(), heap.events.end(),
                   [](const HeapEvent& one, const HeapEvent& other) { return one.time < other.time; });
  return heap;
}

// The live blocks after each event, by address. An address that is allocated twice without a free in between is an
// error.
struct Living {
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> bytes;  // by process and address
  size_t doubles = 0, unknown_returns = 0;
};
inline Living living_of(const Heap& heap) {
  Living living;
  for (const HeapEvent& event : heap.events) {
    if (!event.is_return)
      living.doubles += living.bytes.insert_or_assign({event.pid, event.address}, event.bytes).second ? 0 : 1;
    else if (living.bytes.erase({event.pid, event.address}) == 0)
      ++living.unknown_returns;
  }
  return living;
}

class MallocTest : public EndToEnd {
 protected:
  void SetUp() override {
    if (!have_kymo() || access(library().c_str(), R_OK) != 0) GTEST_SKIP() << "libkymo_malloc.so is not built";
  }
  static std::string library() { return kymo::base::built("lib/libkymo_malloc.so"); }
  std::string trace_file() const { return file("heap.kymo"); }

  Ending record(const Words& words, const std::string& mode = "--memory", const Words& more = {}) {
    Words all{program("kymo"), "record", "--quiet", "--strict", "-o", trace_file(), mode};
    all.insert(all.end(), more.begin(), more.end());
    all.push_back("--");
    all.insert(all.end(), words.begin(), words.end());
    const Ending ending = run(all);
    EXPECT_EQ(ending.code, 0) << ending.err << " signal " << ending.signal;
    EXPECT_EQ(ending.err, "");
    functions_.clear();
    std::istringstream lines(ending.out);
    std::string name, address;
    while (lines >> name >> address) functions_[name] = std::strtoull(address.c_str(), nullptr, 16);
    return ending;
  }
  Heap read(bool complete = true) {
    readback_ = read_back(trace_file(), Detail::Arguments);
    EXPECT_TRUE(complete ? sound_and_complete(readback_) : sound(readback_));
    Heap heap = heap_of(readback_);
    EXPECT_EQ(heap.unknown_nodes, 0u);
    EXPECT_EQ(heap.code_of_no_module, 0u);
    return heap;
  }
  Heap record_and_read(const Words& words, const std::string& mode = "--memory") {
    record(words, mode);
    return read();
  }
  // True if it was allocated before main() by code of the loader, for which some systems have no unwind tables.
  static bool started_by_loader(const Heap& heap, const HeapEvent& event) {
    return std::any_of(heap.modules.begin(), heap.modules.end(), [&](const auto& module) {
      return module.path.find("/ld-") != std::string::npos && !event.stack.empty() &&
             event.stack.back() - module.base < module.size;
    });
  }
  // True if these functions call each other at the inner end of the stack, innermost first.
  ::testing::AssertionResult begins_with(const HeapEvent& event, const Words& names, size_t skip = 0) const {
    constexpr uint64_t kMaxBytes = 600;  // of a function here
    for (size_t i = 0; i < names.size(); ++i) {
      const uint64_t function = functions_.at(names[i]);
      if (skip + i >= event.stack.size() || event.stack[skip + i] <= function ||
          event.stack[skip + i] > function + kMaxBytes)
        return ::testing::AssertionFailure()
               << names[i] << " is not frame " << skip + i << " of " << event.stack.size();
    }
    return ::testing::AssertionSuccess();
  }
  // All allocations of this size.
  void expect_stacks(const Heap& heap, uint64_t bytes, const Words& names, size_t skip = 0) const {
    for (const HeapEvent& event : heap.events) {
      if (!event.is_return && event.bytes == bytes) {
        ASSERT_TRUE(begins_with(event, names, skip)) << bytes;
      }
    }
  }
  Readback readback_;
  std::map<std::string, uint64_t> functions_;
};

}  // namespace kymo::e2e
