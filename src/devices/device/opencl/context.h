// The state that all objects of one opened device share.
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

  void renew();  // a new cl_context instead of one that is lost

  // An in-order queue. Profiling slows down every operation on some drivers, so request it only if needed.
  CommandQueue make_queue(bool profiling) const;

  std::shared_ptr<const Api> api;
  const Api& cl;
  FoundDevice device;
  Handle<cl_context> handle;
  HostMemory host_memory;

  // Counts the blocks that were returned to the driver. A driver may look up an address when it becomes an argument. So
  // arguments that were set before a block was returned are set again, even if the address is the same.
  std::atomic<uint64_t> releases{0};
};

}  // namespace kymo::device::opencl
