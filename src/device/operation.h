// What one operation on a queue is, in words and numbers, for the trace and for those who watch (watcher.h).
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

// What stays true of it.
struct OperationFacts {
  OperationKind kind = OperationKind::Kernel;
  bool blocking = false;         // of a copy: the call returns when it is done
  std::string_view name;         // a kernel's; lives as long as the process does (names.h)
  Site* site = nullptr;          // its executions' in the trace; so does this
  const void* handle = nullptr;  // tells kernels apart: the same for the same kernel of the same library
  Extent threads, group;         // a kernel's
  size_t bytes = 0;              // copied or filled; of a kernel: of the tensors it was given
};

struct Operation : OperationFacts {
  // Only while the call lasts.
  std::span<const KernelArgument> arguments;    // a kernel's
  const Tensor *from = nullptr, *to = nullptr;  // of a copy or a fill; null: the host's
  const void* host = nullptr;                   // of a copy: the host's memory
};

}  // namespace kymo::device
