// Logs made by hand, for tests that build results from them. A tick is a nanosecond, and tick 0 is kOrigin.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "edge/build.h"

namespace kymo::edge {

// The log of one thread: operations nest in the order of begin() and end().
class MadeThread {
 public:
  explicit MadeThread(uint64_t thread) { log_.thread = thread; }

  RawOperation& begin(std::string_view name, uint64_t at, int64_t debug_handle = -1, const Inputs* inputs = nullptr) {
    RawOperation& made = *log_.operations.append();
    made.begin_ticks = at;
    made.name = log_.names.number_of(name);
    made.parent = open_.empty() ? kNothing : open_.back();
    made.debug_handle = debug_handle;
    if (inputs != nullptr) {
      extras(made).inputs_at = log_.inputs.append_run(inputs->bytes());
      extras(made).inputs_size = static_cast<uint32_t>(inputs->bytes().size());
    }
    open_.push_back(log_.operations.size() - 1);
    return made;
  }
  RawExtras& extras(RawOperation& operation) {
    if (operation.extras == kNothing) {
      log_.extras.append();
      operation.extras = log_.extras.size() - 1;
    }
    return log_.extras[operation.extras];
  }
  void end(uint64_t at) {
    log_.operations[open_.back()].end_ticks = at;
    open_.pop_back();
  }
  // Sets the counts of the innermost open operation.
  void count(std::vector<uint64_t> begin, std::vector<uint64_t> end, uint64_t running_ns = 100) {
    RawCounts& made = *log_.counts.append();
    made.end.enabled_ns = 100;
    made.end.running_ns = running_ns;
    for (size_t at = 0; at < begin.size(); ++at) made.begin.values[at] = begin[at], made.end.values[at] = end[at];
    extras(log_.operations[open_.back()]).counts = log_.counts.size() - 1;
  }
  void backend_event(std::string_view name, int64_t start_us, int64_t end_us, uint64_t reported = 0,
                     std::string_view backend = "dsp", int64_t debug_handle = -1) {
    *log_.backend_events.append() = {
        start_us, end_us, debug_handle, log_.names.number_of(name), log_.names.number_of(backend), reported};
  }
  void memory(uint64_t at, uint64_t address, int64_t bytes, uint64_t total = 0, DeviceId device = {}) {
    *log_.memory.append() = {at, address, bytes, total, 0, device, open_.empty() ? kNothing : open_.back(), false};
  }
  void device_operation(std::string_view name, uint64_t start, uint64_t end, DeviceId device) {
    *log_.device_operations.append() = {
        start, start, end, 0, device, log_.names.number_of(name), open_.empty() ? kNothing : open_.back(), false};
  }
  // As edge::device_operation() of kymo/edge_engine.h records it.
  void reported_operation(std::string_view name, uint64_t queued, uint64_t start, uint64_t end, DeviceId device) {
    device_operation(name, start, end, device);
    RawDeviceOperation& made = log_.device_operations[log_.device_operations.size() - 1];
    made.queued_ns = queued;
    made.cause_by_time = true;
  }
  ThreadLog& log() { return log_; }

 private:
  ThreadLog log_;
  std::vector<uint32_t> open_;
};

class MadeLog {
 public:
  static constexpr uint64_t kOrigin = 1'700'000'000'000'000'000;
  static constexpr int64_t kOriginUs = 1'700'000'000'000'000;

  explicit MadeLog(uint64_t length_ns) {
    options.wanted = {true, true};
    contents.begin = {0, 0, kOrigin};
    contents.end = {length_ns, length_ns, kOrigin + length_ns};
    contents.options = &options;
  }
  MadeLog(const MadeLog&) = delete;
  MadeLog& operator=(const MadeLog&) = delete;

  MadeThread& thread(uint64_t number) {
    threads_.push_back(std::make_unique<MadeThread>(number));
    contents.threads.push_back(&threads_.back()->log());
    return *threads_.back();
  }
  std::shared_ptr<const ResultData> build(const BuildOptions& build_options = {},
                                          const Module& module = Module{}) const {
    return build_result(contents, module, build_options);
  }

  LogOptions options;
  LogContents contents;

 private:
  std::vector<std::unique_ptr<MadeThread>> threads_;
};

}  // namespace kymo::edge
