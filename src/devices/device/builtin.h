// The runtime's own kernels: copies between strided tensors, and random numbers (random/fill.h). They are written in
// Metal. Each is compiled when it is first needed, cached like all others, and kept while the device is open.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "device/library.h"
#include "kymo/shader.h"
#include "kymo/tensor.h"

namespace kymo::device {

class BuiltinKernels {
 public:
  explicit BuiltinKernels(DeviceState& device) : device_(device) {}
  // "strided_copy_4", or a name of random/fill.h. Throws NotAvailable if the device has no compiler for it here.
  Kernel get(std::string_view name);
  // The table that the kernels for normal numbers take, on the device from the first call on.
  Tensor normal_table();
  void forget();  // the device was reset

 private:
  DeviceState& device_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<LibraryState>, std::less<>> libraries_;  // by the one kernel of each
  Tensor normal_table_;
};

// Copies between tensors that are not both contiguous. Same shape, dtype and device; neither is empty. Queued on the
// current stream of this thread.
void strided_copy(const Tensor& from, const Tensor& to);

}  // namespace kymo::device
