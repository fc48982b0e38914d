// The counted contents of a capture, for `kymo capture-info`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "capture/replay/reader.h"

namespace kymo::capture {

struct CallSummary {
  std::string name;  // of a kernel, or a kind of fill or copy
  bool is_kernel = false;
  uint32_t shader = 0;  // of a kernel
  uint64_t calls = 0, tensor_bytes = 0;
  uint64_t device_ns = 0, timed_calls = 0;
};

struct Summary {
  std::vector<CallSummary> calls;  // kernels first, each by its name
  uint64_t streams = 0;
  uint64_t buffers = 0, buffer_bytes = 0, freed = 0;
  uint64_t stored_bytes = 0;  // of all files
};

Summary summarise(const CaptureFile& capture);

}  // namespace kymo::capture
