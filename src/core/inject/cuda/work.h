// One piece of finished work on a device, from a record of CUPTI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "inject/cuda/abi.h"

namespace kymo::inject::cuda {

enum class WorkKind : uint8_t {
  Kernel,
  CopyToDevice,
  CopyToHost,
  CopyOnDevice,
  CopyBetweenDevices,
  CopyOnHost,
  Fill,
  Graph
};

struct Work {
  WorkKind kind = WorkKind::Kernel;
  std::string_view name;        // a kernel's, mangled; valid as long as the record
  uint64_t start = 0, end = 0;  // on CUPTI's clock; 0: unknown
  uint32_t device = 0, context = 0, stream = 0;
  uint32_t correlation = 0;
  uint64_t bytes = 0;          // of a copy or fill
  uint32_t target_device = 0;  // of a copy between devices
  uint32_t graph = 0;
  uint32_t grid[3] = {}, block[3] = {};
  uint32_t registers = 0, shared_bytes = 0;  // per thread; per block

  bool has_times() const { return start != 0 && end >= start; }
};

// Empty for a record of another kind, and for one that is shorter than its kind: `bytes` is how much of the buffer is
// left. Kernel names must be readable text that ends with 0, as CUPTI makes them.
std::optional<Work> work_from(const void* record, size_t bytes) noexcept;

}  // namespace kymo::inject::cuda
