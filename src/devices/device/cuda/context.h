// The primary context of one device, shared with the CUDA runtime and the libraries that use it, and how to make it
// current.
#pragma once

#include "device/cuda/api.h"
#include "kymo/error.h"

namespace kymo::device::cuda {

// Tells libkymo_inject.so which calls of CUDA are ours. It records the CUDA work of the whole process through CUPTI,
// and leaves out ours, which the runtime records itself.
//
// The count of our calls on this thread, in that library. If it is not loaded, a variable that nobody reads.
int& own_calls() noexcept;

struct Context {
  const Api& api;
  CUdevice device;
  CUcontext handle = nullptr;  // null: lost in a reset that failed
};

// Makes a context current on the calling thread while this object lives. If another context was current before (in a
// program that uses CUDA itself on another device), it is current again afterwards. If there was none, this one stays
// current. Cost if it is already current: one cuCtxGetCurrent, 9 ns. Calls of CUDA meanwhile are ours (own_calls).
// Throws DeviceError.
class Current {
 public:
  explicit Current(const Context& context) : api_(context.api) {
    api_.context_get(&before_);
    if (before_ == context.handle && before_ != nullptr) [[likely]] {
      before_ = nullptr;
    } else {
      if (context.handle == nullptr)
        throw DeviceError(
            "CUDA: the device was lost in a fault, and its driver could not reset it: restart the process");
      check(api_, api_.context_set(context.handle), "cuCtxSetCurrent");
    }
    ++own_calls();
  }
  ~Current() {
    --own_calls();
    if (before_ != nullptr) [[unlikely]]
      api_.context_set(before_);
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

 private:
  const Api& api_;
  CUcontext before_ = nullptr;  // the context to restore; null: none
};

// For destructors: calls `function` with the context current. Does nothing if the device is lost, because then the
// objects are gone too.
template <class Function>
void while_current(const Context& context, Function function) noexcept {
  try {
    const Current current(context);
    function();
  } catch (const DeviceError&) {
    return;
  }
}

}  // namespace kymo::device::cuda
