// What everything of one opened device shares.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "device/opencl/api.h"
#include "device/opencl/devices.h"
#include "device/opencl/handle.h"
#include "device/opencl/host_memory.h"

namespace kymo::device::opencl {

struct Context {
  Context(std::shared_ptr<const Api> loaded, FoundDevice found);

  void renew();  // a new cl_context, in place of one that is lost

  // A queue in order. Profiling costs some drivers time in every operation, so it is asked for only where needed.
  CommandQueue make_queue(bool profiling) const;

  std::shared_ptr<const Api> api;
  const Api& cl;
  FoundDevice device;
  Handle<cl_context> handle;
  HostMemory host_memory;

  // Counts the blocks that went back to the driver. A driver may look an address up when it becomes an argument, so
  // what was set before a block went is set again even where the number is the same.
  std::atomic<uint64_t> releases{0};
};

}  // namespace kymo::device::opencl
