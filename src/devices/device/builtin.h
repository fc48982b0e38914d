// The runtime's own kernels, in the language of each backend. Compiled when first needed, cached like all others, and
// kept while the device is open.
#pragma once

#include <array>
#include <memory>
#include <mutex>

#include "device/library.h"
#include "kymo/shader.h"

namespace kymo::device {

enum class Builtin : uint8_t {
  StridedCopy,  // strided_copy_1, _2, _4, _8 (from, to, sizes, from strides, to strides), by bytes of an element
  Uniform,      // the rest: random/fill.h
  Normal,
  RandInt,
  Bernoulli,
};
inline constexpr size_t kBuiltins = 5;

class BuiltinLibraries {
 public:
  explicit BuiltinLibraries(DeviceState& device) : device_(device) {}
  // Throws NotAvailable if the device has no compiler for them here.
  ShaderLibrary get(Builtin which);
  void forget();  // the device was reset

 private:
  DeviceState& device_;
  std::mutex mutex_;
  std::array<std::shared_ptr<LibraryState>, kBuiltins> libraries_;
};

}  // namespace kymo::device
