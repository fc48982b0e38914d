#include "edge/kymo_trace.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/host.h"
#include "base/text.h"
#include "convert/kineto.h"
#include "edge/inputs.h"
#include "edge/rows.h"
#include "import/builder/trace_builder.h"
#include "trace/model.h"
#include "trace/writer.h"

namespace kymo::edge {
namespace {

using import::ImportedEvent;
using import::ImportedValue;
using trace::FieldType;

// Kineto's categories, so that an export of the trace looks like the file that the profiler writes itself.
std::string_view trace_category(const EdgeEvent& event) {
  if (event.kind == EdgeKind::Device) return convert::kineto::device_work(event.name).category;
  return event.kind == EdgeKind::User ? convert::kineto::kAnnotation : convert::kineto::kOperator;
}

std::string whole_file(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> command_line() {
  std::vector<std::string> arguments = base::split(whole_file("/proc/self/cmdline"), '\0');
  if (arguments.back().empty()) arguments.pop_back();  // each argument ends with a zero
  return arguments;
}

import::ImportedProcess process_of(const ResultData& result){import::ImportedProcess process;
process.pid = result.pid;
process.host = base::host_name();
process.boot_id = base::boot_id();
if (result.pid == static_cast<uint64_t>(getpid())) {
  std::error_code ignored;
  process.parent_pid = static_cast<uint64_t>(getppid());
  process.name = std::filesystem::read_symlink("/proc/self/exe", ignored).string();
  process.command_line = command_line();
}
process.metadata.emplace_back("profiler", "edge");
for (const std::string_view option : result.options()) process.metadata.emplace_back(option, "1");
std::vector<std::string> uncounted;
for (const EdgeUncounted& of : result.without_flops) uncounted.push_back(base::format("{} ({})", of.name, of.calls));
if (!uncounted.empty()) process.metadata.emplace_back("flops_not_counted", base::join(uncounted, ", "));
// Converts the times, nanoseconds since 1970, to the host's own clock. It names no boot, because these ticks do not
// start at the boot.
const base::RealtimeOffset offset = base::realtime_offset();
process.clock = {0, result.start_ns - std::min(offset.ns, result.start_ns), result.start_ns, offset.error_ns,
                 base::suspended_ns()};
return process;
}  // namespace

class EdgeTraceWriter {
 public:
  explicit EdgeTraceWriter(const ResultData& result) : result_(result), rows_(arrange_rows(result)) {}

  void write(const std::string& path) {
    trace::Writer writer(path, trace::Writer::Mode::Create);
    add_tracks();
    find_launches();
    for (uint32_t i = 0; i < result_.events.size(); ++i) add_event(i);
    for (const EdgeAllocation& allocation : result_.allocations) add_allocation(allocation);
    if (builder_.track_count() != 0)
      point(0, result_.end_ns, trace::PointKind::Instant, 0, "Record Window End", "window");
    for (const std::string& words : result_.losses) builder_.lose(trace::LossCause::Reported, words, 1);
    builder_.write(writer, static_cast<int64_t>(result_.start_ns), {});
    writer.close();
  }

 private:
  // In the order of the rows, so that a row and its track have the same number.
  void add_tracks() {
    const uint32_t process = builder_.add_process(process_of(result_));
    for (const RowTrack& row : rows_.tracks) {
      import::ImportedTrack track{.process = process, .tid = row.thread, .name = row.name};
      if (row.on_device) {
        track.kind = trace::TrackKind::DeviceQueue;
        track.device = device_text(row.device);
        track.queue = row.queue;
      }
      builder_.add_track(std::move(track));
    }
  }

  // Operations that requested device operations.
  void find_launches() {
    for (size_t i = result_.first_device_event; i < result_.events.size(); ++i) {
      const uint32_t launch = result_.events[i].caused_by;
      if (launch >= result_.first_device_event) continue;
      launches_.resize(result_.first_device_event);
      launches_[launch] = true;
    }
  }

  // The number that links a device operation to the operation that requested it: the number of the latter.
  uint64_t correlation_of(uint32_t event) const {
    const bool on_device = event >= result_.first_device_event;
    const uint32_t launch = on_device ? result_.events[event].caused_by : event;
    return launch < launches_.size() && launches_[launch] ? launch + uint64_t{1} : 0;
  }

  void add_event(uint32_t index) {
    const EdgeEvent& event = result_.events[index];
    const RowPlace& place = rows_.places[index];
    collect_values(event);
    const auto lane = static_cast<uint8_t>(std::min<uint32_t>(place.lane, std::numeric_limits<uint8_t>::max()));
    const ImportedEvent made{.name = event.name, .category = trace_category(event), .values = &values_, .lane = lane};
    const int64_t start = time_of(event.start_ns);
    if (event.finished) {
      builder_.range(place.track, start, time_of(event.start_ns + length_ns(event)), made, correlation_of(index));
    } else {
      builder_.open_range(place.track, start, made, correlation_of(index));
    }
    values_.clear();
    if (event.stack < result_.stacks.size())
      point(place.track, event.start_ns, trace::PointKind::Sample, stack_of(event.stack, place.track), "C++ stack",
            "stack");
  }

  void add_allocation(const EdgeAllocation& allocation) {
    const uint32_t track = rows_.of_threads.at(allocation.thread);
    add_number("Bytes", FieldType::Int, static_cast<uint64_t>(allocation.bytes));
    add_number("Total Allocated", FieldType::ByteCount, allocation.total_allocated);
    add_number("Total Reserved", FieldType::ByteCount, allocation.total_reserved);
    add_number("Device Type", FieldType::Int, static_cast<uint64_t>(int64_t{allocation.device.type}));
    add_number("Device Id", FieldType::Int, static_cast<uint64_t>(int64_t{allocation.device.index}));
    if (allocation.out_of_memory) {
      point(track, allocation.time_ns, trace::PointKind::Instant, allocation.address, "[OutOfMemory]",
            "cpu_instant_event");
      return;
    }
    point(track, allocation.time_ns, allocation.bytes < 0 ? trace::PointKind::Free : trace::PointKind::Allocation,
          allocation.address, "[memory]", "cpu_instant_event");
    add_number("bytes", FieldType::Int, allocation.total_allocated);
    point(track, allocation.time_ns, trace::PointKind::Counter, 0, "memory in use, " + device_text(allocation.device),
          "memory");
  }

  // With the values that were added before.
  void point(uint32_t track, uint64_t ns, trace::PointKind kind, uint64_t id, std::string_view name,
             std::string_view category) {
    builder_.point(track, time_of(ns), kind, id, {.name = name, .category = category, .values = &values_});
    values_.clear();
  }

  int64_t time_of(uint64_t ns) const { return static_cast<int64_t>(ns - result_.start_ns); }

  uint64_t stack_of(uint32_t stack, uint32_t track) {
    stacks_.resize(result_.stacks.size());
    if (stacks_[stack] == 0) {
      std::vector<import::ImportedFrame> frames;
      for (const EdgeFrame& frame : result_.stacks[stack])
        frames.push_back({frame.function, frame.file, frame.line, frame.module});
      stacks_[stack] = builder_.stack(track, frames);
    }
    return stacks_[stack];
  }

  void add_number(std::string_view name, FieldType type, uint64_t value) {
    values_.push_back({.name = name, .type = type, .bits = value, .text = {}});
  }
  void add_text(std::string_view name, std::string_view text) {
    values_.push_back({.name = name, .type = FieldType::String, .text = text});
  }

  // The known values of an event, each with its name: those arguments of the Chrome file that a trace does not already
  // contain.
  void collect_values(const EdgeEvent& event) {
    if (const auto inputs = result_.inputs_of(event); !inputs.empty()) {
      const InputTexts& texts = inputs_.of(inputs);
      add_text("Input Dims", texts.sizes);
      add_text("Input Strides", texts.strides);
      add_text("Input type", texts.types);
      add_text("Concrete Inputs", texts.values);
    }
    if (event.sequence >= 0) {
      add_number("Sequence number", FieldType::Int, static_cast<uint64_t>(event.sequence));
      add_number("Fwd thread id", FieldType::UInt, event.forward_thread);
    }
    if (event.engine_id != 0) add_number("Record function id", FieldType::UInt, event.engine_id);
    if (event.debug_handle >= 0) add_number("Debug handle", FieldType::Int, static_cast<uint64_t>(event.debug_handle));
    if (!event.module_hierarchy.empty()) add_text("Module Hierarchy", event.module_hierarchy);
    if (!event.call_stack.empty()) add_text("Call stack", event.call_stack);
    if (event.kind == EdgeKind::Backend) add_text("Backend", event.backend);
    if (event.flops != 0) add_number("Flops", FieldType::UInt, event.flops);
    if (event.memory_bytes != 0 || event.self_memory_bytes != 0) {
      add_number("Memory", FieldType::Int, static_cast<uint64_t>(event.memory_bytes));
      add_number("Self memory", FieldType::Int, static_cast<uint64_t>(event.self_memory_bytes));
    }
    const std::span<const EdgeCount> counts = result_.counts_of(event);
    for (size_t i = 0; i < counts.size(); ++i) add_count(counts[i], 3 * i);
    if (event.queued_ns != 0) add_number("Queued ns", FieldType::UInt, event.queued_ns);
    const bool moved = event.raw_start_ns != event.start_ns || event.raw_end_ns != event.end_ns;
    if (moved && event.raw_end_ns != 0) {
      add_number("Raw start ns", FieldType::UInt, event.raw_start_ns);
      add_number("Raw duration ns", FieldType::UInt,
                 event.raw_end_ns > event.raw_start_ns ? event.raw_end_ns - event.raw_start_ns : 0);
    }
  }

  // `name`: its index in count_names_.
  void add_count(const EdgeCount& count, size_t name) {
    constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
    if (count_names_.empty())
      for (const std::string& event : result_.event_names)
        for (const char* part : {"", " (exclusive)", " (scaled)"}) count_names_.push_back(event + part);
    values_.push_back({.name = count_names_[name],
                       .type = FieldType::Double,
                       .real = count.known ? count.inclusive : kUnknown,
                       .text = {}});
    values_.push_back({.name = count_names_[name + 1],
                       .type = FieldType::Double,
                       .real = count.known ? count.exclusive : kUnknown,
                       .text = {}});
    add_number(count_names_[name + 2], FieldType::Bool, count.scaled ? 1 : 0);
  }

  const ResultData& result_;
  const Rows rows_;
  import::TraceBuilder builder_;
  InputTextCache inputs_;
  std::vector<bool> launches_;
  std::vector<uint32_t> stacks_;          // by EdgeEvent::stack: the number in the trace; 0: not known yet
  std::vector<std::string> count_names_;  // three of each performance event
  std::vector<ImportedValue> values_;     // of the next event
};

}  // namespace kymo::edge

void write_kymo_trace(const ResultData& result, const std::string& path) { EdgeTraceWriter(result).write(path); }

}  // namespace kymo::edge
