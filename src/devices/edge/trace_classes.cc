#include "edge/trace_classes.h"

#include <limits>

#include "convert/kineto.h"
#include "edge/chrome_rows.h"

namespace kymo::edge {
namespace {

using trace::FieldType;

// A chunk holds at most 64 MiB, and a program may create names and texts of any length.
constexpr size_t kLongestName = 1 << 16;
constexpr size_t kLongestText = 1 << 20;

enum Known : uint32_t {
  kInputs = 1,
  kSequence = 2,
  kEngineId = 4,
  kHandle = 8,
  kHierarchy = 16,
  kCallStack = 32,
  kBackend = 64,
  kFlops = 128,
  kMemory = 256,
  kCounts = 512,
  kQueued = 1024,
  kRaw = 2048,
};
constexpr unsigned kKindShift = 16;

void put_text(trace::Values& to, std::string_view text) {
  text = text.substr(0, kLongestText);
  to.ints.push_back(text.size());
  to.text += text;
}

void put_signed(trace::Values& to, int64_t value) { to.ints.push_back(static_cast<uint64_t>(value)); }

// Kineto's categories, so that an export of the trace looks like the file that the profiler writes itself.
std::string_view trace_category(const EdgeEvent& event) {
  if (event.kind == EdgeKind::Device) return convert::kineto::device_work(event.name).category;
  return event.kind == EdgeKind::User ? convert::kineto::kAnnotation : convert::kineto::kOperator;
}

}  // namespace

TraceClasses::TraceClasses(const ResultData& result) : result_(result) {
  const std::vector<trace::Field> memory = {{"Bytes", FieldType::Int},
                                            {"Total Allocated", FieldType::ByteCount},
                                            {"Total Reserved", FieldType::ByteCount},
                                            {"Device Type", FieldType::Int},
                                            {"Device Id", FieldType::Int}};
  if (!result.allocations.empty()) {
    new_.push_back({kPoints.memory, "[memory]", "cpu_instant_event", 0, memory});
    new_.push_back({kPoints.out_of_memory, "[OutOfMemory]", "cpu_instant_event", 0, memory});
  }
  if (!result.stacks.empty()) new_.push_back({kPoints.stack, "C++ stack", "stack", 0, {}});
  new_.push_back({kPoints.window_end, "Record Window End", "window", 0, {}});
}

uint32_t TraceClasses::known_about(const EdgeEvent& event) const {
  uint32_t known = 0;
  const auto add_if = [&](bool there, Known what) { known |= there ? what : 0u; };
  add_if(event.inputs_size != 0 && uint64_t{event.inputs_at} + event.inputs_size <= result_.inputs.size(), kInputs);
  add_if(event.sequence >= 0, kSequence);
  add_if(event.engine_id != 0, kEngineId);
  add_if(event.debug_handle >= 0, kHandle);
  add_if(!event.module_hierarchy.empty(), kHierarchy);
  add_if(!event.call_stack.empty(), kCallStack);
  add_if(event.kind == EdgeKind::Backend, kBackend);
  add_if(event.flops != 0, kFlops);
  add_if(event.memory_bytes != 0 || event.self_memory_bytes != 0, kMemory);
  add_if(event.counts != EdgeEvent::kNone && event.counts + result_.event_names.size() <= result_.counts.size(),
         kCounts);
  add_if(event.queued_ns != 0, kQueued);
  add_if(event.raw_end_ns != 0 && (event.raw_start_ns != event.start_ns || event.raw_end_ns != event.end_ns), kRaw);
  return known;
}

uint32_t TraceClasses::of(const EdgeEvent& event) {
  const uint32_t known = known_about(event);
  const uint32_t kind = static_cast<uint32_t>(event.kind) << kKindShift;
  const auto [entry, is_new] = ids_.try_emplace({event.name.data(), event.name.size(), kind | known}, next_id_);
  if (is_new) {
    const std::string name(event.name.substr(0, kLongestName));
    new_.push_back({next_id_++, name, std::string(trace_category(event)), 0, fields_of(known)});
  }
  return entry->second;
}

// In the order of append_values().
std::vector<trace::Field> TraceClasses::fields_of(uint32_t known) const {
  std::vector<trace::Field> fields;
  const auto add = [&](std::string name, FieldType type) { fields.push_back({std::move(name), type}); };
  if (known & kInputs)
    for (const char* const name : {"Input Dims", "Input Strides", "Input type", "Concrete Inputs"})
      add(name, FieldType::String);
  if (known & kSequence) {
    add("Sequence number", FieldType::Int);
    add("Fwd thread id", FieldType::UInt);
  }
  if (known & kEngineId) add("Record function id", FieldType::UInt);
  if (known & kHandle) add("Debug handle", FieldType::Int);
  if (known & kHierarchy) add("Module Hierarchy", FieldType::String);
  if (known & kCallStack) add("Call stack", FieldType::String);
  if (known & kBackend) add("Backend", FieldType::String);
  if (known & kFlops) add("Flops", FieldType::UInt);
  if (known & kMemory) {
    add("Memory", FieldType::Int);
    add("Self memory", FieldType::Int);
  }
  if (known & kCounts) {
    for (const std::string& name : result_.event_names) {
      add(name, FieldType::Double);
      add(name + " (exclusive)", FieldType::Double);
      add(name + " (scaled)", FieldType::Bool);
    }
  }
  if (known & kQueued) add("Queued ns", FieldType::UInt);
  if (known & kRaw) {
    add("Raw start ns", FieldType::UInt);
    add("Raw duration ns", FieldType::UInt);
  }
  return fields;
}

void TraceClasses::append_values(const EdgeEvent& event, trace::Values& to) {
  const uint32_t known = known_about(event);
  if (known & kInputs) {
    const InputTexts& texts = inputs_.of({result_.inputs.data() + event.inputs_at, event.inputs_size});
    for (const std::string* const text : {&texts.sizes, &texts.strides, &texts.types, &texts.values})
      put_text(to, *text);
  }
  if (known & kSequence) {
    put_signed(to, event.sequence);
    to.ints.push_back(event.forward_thread);
  }
  if (known & kEngineId) to.ints.push_back(event.engine_id);
  if (known & kHandle) put_signed(to, event.debug_handle);
  if (known & kHierarchy) put_text(to, event.module_hierarchy);
  if (known & kCallStack) put_text(to, event.call_stack);
  if (known & kBackend) put_text(to, event.backend);
  if (known & kFlops) to.ints.push_back(event.flops);
  if (known & kMemory) {
    put_signed(to, event.memory_bytes);
    put_signed(to, event.self_memory_bytes);
  }
  if (known & kCounts) {
    constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
    for (size_t i = 0; i < result_.event_names.size(); ++i) {
      const EdgeCount& count = result_.counts[event.counts + i];
      to.doubles.push_back(count.known ? count.inclusive : kUnknown);
      to.doubles.push_back(count.known ? count.exclusive : kUnknown);
      to.ints.push_back(count.scaled ? 1 : 0);
    }
  }
  if (known & kQueued) to.ints.push_back(event.queued_ns);
  if (known & kRaw) {
    to.ints.push_back(event.raw_start_ns);
    to.ints.push_back(event.raw_end_ns > event.raw_start_ns ? event.raw_end_ns - event.raw_start_ns : 0);
  }
}

void TraceClasses::append_values(const EdgeAllocation& allocation, trace::Values& to) const {
  put_signed(to, allocation.bytes);
  to.ints.push_back(allocation.total_allocated);
  to.ints.push_back(allocation.total_reserved);
  put_signed(to, allocation.device.type);
  put_signed(to, allocation.device.index);
}

uint32_t TraceClasses::memory_counter(const DeviceId& device) {
  const auto [entry, is_new] = memory_counters_.try_emplace({device.type, device.index}, next_id_);
  if (is_new) {
    const std::string name = "memory in use, " + device_text(device);
    new_.push_back({next_id_++, name, "memory", 0, {{"bytes", FieldType::Int}}});
  }
  return entry->second;
}

std::vector<trace::EventClass> TraceClasses::take_new() { return std::exchange(new_, {}); }

}  // namespace kymo::edge
