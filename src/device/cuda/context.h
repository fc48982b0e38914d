// The primary context of one device, which the CUDA runtime and libraries built on it share, and making it current.
#pragma once

#include "device/cuda/api.h"
#include "device/cuda/errors.h"
#include "kymo/error.h"

namespace kymo::device::cuda {

struct Context {
  const Api& api;
  CUdevice device;
  CUcontext handle = nullptr;  // null: lost in a reset that failed
};

// Makes a context current on the calling thread for as long as this lives. Another that was current before, of a
// program that uses CUDA itself on another device, is current again afterwards; where there was none, this stays.
// Cost: one cuCtxGetCurrent, 9 ns, where it is current already. Throws DeviceError.
class Current {
 public:
  explicit Current(const Context& context) : api_(context.api) {
    api_.context_get(&before_);
    if (before_ == context.handle && before_ != nullptr) [[likely]] {
      before_ = nullptr;
      return;
    }
    if (context.handle == nullptr)
      throw DeviceError(
          "CUDA: the device was lost in a fault and the driver did not give it back: start the process again");
    check(api_, api_.context_set(context.handle), "cuCtxSetCurrent");
  }
  ~Current() {
    if (before_ != nullptr) [[unlikely]]
      api_.context_set(before_);
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

 private:
  const Api& api_;
  CUcontext before_ = nullptr;  // to go back to; null: nothing
};

// For destructors: calls `function` with the context current, and lets go where the device is lost, since then so is
// what was to be destroyed.
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
