// The hooks of a capture (src/devices/capture) in the runtime: every call that changes or reads device memory, as the
// user made it, with all data to repeat it. There is one capture at a time. While there is none, the pointer is null
// and a call costs one load.
//
// The hooks are called on any thread, before the work is queued. They may use the device themselves: that work is not
// captured (is_capturing_thread()). Memory that a kernel gets as a list (Arguments::upload_lists) is part of the
// launch. The runtime's own kernels are not reported as launches, but as what they do (random numbers, copies).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "device/backend.h"
#include "kymo/shader.h"
#include "kymo/tensor.h"

namespace kymo::device {

class Storage;
struct KernelState;

// The fills of random.h, with the state of the generator: a replay fills with the generator set to this state.
struct RandomFill {
  enum class Kind : uint8_t { Uniform, Normal, Integers, Bernoulli };
  Kind kind = Kind::Uniform;
  double a = 0, b = 0;            // from, to; mean, deviation; probability
  int64_t low = 0, high = 0;      // of integers
  uint64_t seed = 0, offset = 0;  // of the generator, before the fill
};

class WorkCapture {
 public:
  virtual ~WorkCapture() = default;
  virtual void launch(const KernelState& kernel, const Launch& launch, std::span<const KernelArgument> given,
                      StreamState& stream) = 0;
  virtual void fill(const Tensor& to, double value) = 0;
  virtual void fill_random(const Tensor& to, const RandomFill& fill) = 0;
  virtual void copy(const Tensor& from, const Tensor& to) = 0;  // on one device; either tensor may be strided
  virtual void upload(const Tensor& to, std::span<const std::byte> from) = 0;
  virtual void download(const Tensor& from) = 0;
  virtual void freed(Storage& storage) noexcept = 0;  // the last chance to read its contents
  // A named operation (profiler::Operation) on this thread: its calls until the end are part of it. Operations nest. An
  // end may come without its begin.
  virtual void begin_operation(std::string_view name, double flops) = 0;
  virtual void end_operation() noexcept = 0;
};

namespace detail {
inline std::atomic<WorkCapture*> work_capture{nullptr};
inline thread_local constinit bool in_capture = false;
}  // namespace detail

// Null: no capture. A capture is never destroyed, because a call to it may be running.
inline void set_work_capture(WorkCapture* capture) { detail::work_capture.store(capture, std::memory_order_release); }

// The capture that must be informed of a call on this thread.
inline WorkCapture* work_capture() noexcept {
  WorkCapture* capture = detail::work_capture.load(std::memory_order_acquire);
  return __builtin_expect(capture != nullptr, 0) && !detail::in_capture ? capture : nullptr;
}

// While this object lives, the device calls of this thread belong to the capture itself and are not captured.
class CaptureScope {
 public:
  CaptureScope() : before_(detail::in_capture) { detail::in_capture = true; }
  ~CaptureScope() { detail::in_capture = before_; }
  CaptureScope(const CaptureScope&) = delete;
  CaptureScope& operator=(const CaptureScope&) = delete;

 private:
  const bool before_;
};

}  // namespace kymo::device
