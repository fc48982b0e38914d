// Which operation queued a device operation.
#include <algorithm>

#include "edge/result_builder.h"

namespace kymo::edge {

ResultBuilder::ThreadTimes ResultBuilder::times_of(const ThreadLog& log) const {
  const uint32_t count = log.operations.size();
  ThreadTimes times;
  times.operations.resize(count);
  times.parents.resize(count);
  for (uint32_t at = 0; at < count; ++at) {
    const RawOperation& raw = log.operations[at];
    const uint64_t end_ticks = raw.end_ticks.load(std::memory_order_acquire);
    times.operations[at] = {clock_.of_ticks(raw.begin_ticks),
                            end_ticks == 0 ? data_->end_ns : clock_.of_ticks(end_ticks)};
    times.parents[at] = raw.parent < at ? raw.parent : kNothing;
  }
  return times;
}

// An engine often learns of a device operation only when it has run, inside of another operation. Then the time at
// which it was queued decides. The operation in which it was reported is right if it began less than a microsecond
// later: the two clocks agree only that well.
std::vector<uint32_t> ResultBuilder::causes_of(const ThreadLog& log) const {
  constexpr uint64_t kTolerance = 1000;
  std::vector<uint32_t> causes(log.device_operations.size());
  bool has_times = false;
  for (uint32_t at = 0; at < causes.size(); ++at) {
    causes[at] = log.device_operations[at].operation;
    has_times = has_times || log.device_operations[at].cause_by_time;
  }
  if (!has_times) return causes;
  const ThreadTimes times = times_of(log);
  const OpenOperations open(times.operations, times.parents);
  for (uint32_t at = 0; at < causes.size(); ++at) {
    const RawDeviceOperation& raw = log.device_operations[at];
    if (!raw.cause_by_time) continue;
    const uint64_t queued = clock_.of_monotonic(raw.queued_ns);
    if (raw.operation < times.operations.size()) {
      const uint64_t begin = times.operations[raw.operation].start_ns;
      if (queued < begin && begin - queued <= kTolerance) continue;
    }
    causes[at] = open.at(queued);
  }
  return causes;
}

}  // namespace kymo::edge
