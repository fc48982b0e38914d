// What one operation on a queue is, in words and numbers, for the trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "device/backend.h"

namespace kymo::device {

enum class OperationKind : uint8_t { Kernel, CopyHostToDevice, CopyDeviceToHost, CopyOnDevice, Fill };

struct Operation {
  OperationKind kind = OperationKind::Kernel;
  std::string_view name;  // a kernel's; lives as long as the process does (names.h)
  Extent threads, group;  // a kernel's
  size_t bytes = 0;       // copied or filled; of a kernel: of the tensors it was given
};

}  // namespace kymo::device
