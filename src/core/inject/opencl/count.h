// Counts what the layer recorded on the calling thread, for `kymo info`.
#pragma once

#include "record/interfaces.h"
#include "record/thread.h"

namespace kymo::inject::opencl {

inline void count_event() noexcept {
  if (record::Slot* slot = record::this_slot) record::count_delivered(*slot, record::Interface::OpenCl);
}

}  // namespace kymo::inject::opencl
