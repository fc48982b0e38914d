// What a thread waits for in a call such as cudaDeviceSynchronize: the work that was launched before the call.
#pragma once

#include <cstdint>
#include <vector>

#include "analyze/path/activity.h"

namespace kymo::analyze {

class WaitTargets {
 public:
  // Both must outlive this object.
  WaitTargets(const EventWalk& walk, const Activity& activity);

  // Of each queue that the call waits for, the last operation: the one that ended last comes first. A call for a whole
  // device waits for all of its queues. Which device, and which queue in a call for one stream or event, follows from
  // the operation that ended last: the call returned when it ended. If all had ended before the call, this is known
  // only if there is no choice. Empty: it waits for nothing that is known.
  std::vector<uint32_t> of(uint32_t track, const DeviceWait& wait) const;

 private:
  struct Queue {
    uint32_t writer_number;
    const std::string* device;
    std::vector<uint32_t> by_end;  // operations
  };

  uint32_t last_before(const Queue& queue, const DeviceWait& wait) const;

  const EventWalk& walk_;
  const Activity& activity_;
  std::vector<Queue> queues_;
};

}  // namespace kymo::analyze
