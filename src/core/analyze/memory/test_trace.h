// For tests: traces with allocations, in the form of each source of allocations.
#pragma once

#include <string>
#include <vector>

#include "trace/test_recorder.h"

namespace kymo::memory::tests {

using trace::FieldType;
using trace::PointKind;
using trace::testing::kRealtimeZero;
using trace::testing::TemporaryFolder;
using trace::testing::TestRecorder;

enum TestClass : uint32_t {
  kStep = 1,
  kInner,
  kDeviceMemory,
  kAnnotatedMemory,
  kMalloc,
  kFree,
  kNode,
  kModule,
  kEdge,
  kStack,
  kSampled
};

// One process with two threads, 1 and 2, and a class for each kind of event.
class MemoryTrace : public TestRecorder {
 public:
  explicit MemoryTrace(const std::string& path, uint8_t writer = 1, uint64_t pid = 100,
                       trace::Writer::Mode mode = trace::Writer::Mode::Create, uint64_t parent_pid = 0,
                       const std::string& executable = "/usr/bin/train")
      : TestRecorder(path, writer, pid, mode, parent_pid, executable) {
    const std::vector<trace::Field> device = {{"bytes", FieldType::ByteCount}, {"device", FieldType::String}};
    add_class(kStep, "step {}", "training", {{"", FieldType::Int}});
    add_class(kInner, "inner", "training");
    add_class(kDeviceMemory, "device memory", "memory", device);
    add_class(kAnnotatedMemory, "tensor", "memory", {{"bytes", FieldType::ByteCount}, {"category", FieldType::String}});
    add_class(kMalloc, "malloc", "memory", {{"bytes", FieldType::ByteCount}, {"node", FieldType::UInt}});
    add_class(kFree, "free", "memory");
    add_class(kNode, "stack node", "kymo.stack",
              {{"node", FieldType::UInt}, {"parent", FieldType::UInt}, {"address", FieldType::Pointer}});
    add_class(kModule, "module", "kymo.stack",
              {{"path", FieldType::String},
               {"base", FieldType::Pointer},
               {"size", FieldType::ByteCount},
               {"build_id", FieldType::String}});
    add_class(kEdge, "[memory]", "cpu_instant_event",
              {{"Bytes", FieldType::Int}, {"Device Type", FieldType::Int}, {"Device Id", FieldType::Int}});
    add_class(kStack, "C++ stack", "stack");
    add_class(kSampled, "malloc", "memory",
              {{"bytes", FieldType::ByteCount}, {"node", FieldType::UInt}, {"weight", FieldType::ByteCount}});
    add_thread(1, 101, "main");
    add_thread(2, 102, "worker");
  }

  void take(uint32_t track, uint64_t time, uint64_t address, int64_t bytes, const std::string& device = "cuda:0") {
    point(track, time, PointKind::Allocation, kDeviceMemory, address, {bytes, device});
  }
  void give_back(uint32_t track, uint64_t time, uint64_t address, int64_t bytes = 0,
                 const std::string& device = "cuda:0") {
    point(track, time, PointKind::Free, kDeviceMemory, address, {bytes, device});
  }
  void told(uint32_t track, uint64_t time, uint64_t address, int64_t bytes, const std::string& category) {
    point(track, time, PointKind::Allocation, kAnnotatedMemory, address, {bytes, category});
  }
  void reported_free(uint32_t track, uint64_t time, uint64_t address) {
    point(track, time, PointKind::Free, kAnnotatedMemory, address, {int64_t{0}, std::string()});
  }
  void malloc(uint32_t track, uint64_t time, uint64_t address, int64_t bytes, int64_t node) {
    point(track, time, PointKind::Allocation, kMalloc, address, {bytes, node});
  }
  void free(uint32_t track, uint64_t time, uint64_t address) { point(track, time, PointKind::Free, kFree, address); }
  void node(uint32_t track, int64_t number, int64_t parent, int64_t address) {
    point(track, 0, PointKind::Instant, kNode, 0, {number, parent, address});
  }
  void module(uint32_t track, const std::string& path, int64_t base, int64_t size, const std::string& build_id) {
    point(track, 0, PointKind::Instant, kModule, 0, {path, base, size, build_id});
  }
};

}  // namespace kymo::memory::tests
