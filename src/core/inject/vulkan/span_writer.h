// Turns the times of one submitted command buffer into ranges on the track of its queue.
#pragma once

#include <cstdint>

#include "inject/vulkan/objects.h"

namespace kymo::inject::vulkan {

struct Written {
  uint64_t spans = 0;
  uint64_t start = 0, end = 0;  // of the command buffer, in ticks
};

// The slot has its times. Labels that the command buffer leaves open stay in queue.open.
Written write_commands(QueueState& queue, const Pending& pending);

// Labels of the queue: around all work that was submitted between their begin and their end.
void begin_queue_label(QueueState& queue, const std::string& text);
bool end_queue_label(QueueState& queue);  // true: written

}  // namespace kymo::inject::vulkan
