// The description of one operation on a queue, for the trace and for watchers (watcher.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "device/backend.h"
#include "kymo/annotate.h"

namespace kymo::device {

class KernelArgument;
class Tensor;

enum class OperationKind : uint8_t { Kernel, CopyHostToDevice, CopyDeviceToHost, CopyOnDevice, Fill };

// The part that stays valid after the call.
struct OperationFacts {
  OperationKind kind = OperationKind::Kernel;
  bool blocking = false;         // of a copy: the call returns when the copy is done
  std::string_view name;         // a kernel's; lives as long as the process does (names.h)
  Site* site = nullptr;          // of its executions in the trace; lives as long as the process too
  const void* handle = nullptr;  // identifies the kernel: equal for the same kernel of the same library
  Extent threads, group;         // a kernel's
  size_t bytes = 0;              // copied or filled; of a kernel: the size of its tensors
};

struct Operation : OperationFacts {
  // Valid only during the call.
  std::span<const KernelArgument> arguments;    // a kernel's
  const Tensor *from = nullptr, *to = nullptr;  // of a copy or a fill; null: host memory
  const void* host = nullptr;                   // of a copy: the host memory
};

}  // namespace kymo::device
