// Where a capture (src/capture) hooks into the runtime: every call that changes or reads device memory, as the user
// made it, with what it takes to make it again. One at a time; null while there is none, and then a call costs one
// load.
//
// Calls come on any thread, before the work is queued. They may use the device themselves: what they cause is not
// captured (is_capturing_thread()). Memory that a kernel is given as a list (Arguments::upload_lists) is part of the
// launch; the runtime's own kernels are not told as launches but as what they do (random numbers, copies).
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

// What random.h's fills are, with the numbers they drew: replayed by filling with the generator set to this state.
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
  virtual void copy(const Tensor& from, const Tensor& to) = 0;  // on one device; either may have gaps
  virtual void upload(const Tensor& to, std::span<const std::byte> from) = 0;
  virtual void download(const Tensor& from) = 0;
  virtual void freed(Storage& storage) noexcept = 0;  // the last moment at which it can be read
  // A named operation (profiler::Operation) on this thread: what it calls until the end is part of it. They nest; an
  // end may come without its beginning.
  virtual void begin_operation(std::string_view name, double flops) = 0;
  virtual void end_operation() noexcept = 0;
};

// Null: none. A capture is never destroyed, because a call to it may be under way.
void set_work_capture(WorkCapture* capture);

namespace detail {
extern std::atomic<WorkCapture*> work_capture;
extern thread_local constinit bool in_capture;
}  // namespace detail

// The capture to be told of a call on this thread.
inline WorkCapture* work_capture() noexcept {
  WorkCapture* capture = detail::work_capture.load(std::memory_order_acquire);
  return __builtin_expect(capture != nullptr, 0) && !detail::in_capture ? capture : nullptr;
}

// What this thread does to devices while it lives is the capture's own business.
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
