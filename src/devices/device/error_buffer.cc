#include "device/error_buffer.h"

#include <cstring>
#include <string_view>

#include "base/text.h"
#include "kymo/error.h"

namespace kymo::device {
namespace {

struct ReportedError {
  char file[128];
  char function[128];
  char text[250];
  uint32_t line;
};
struct ReportedErrors {
  uint32_t count;
  ReportedError messages[ErrorBuffer::kMessages];
};
static_assert(sizeof(ReportedError) == 512 && sizeof(ReportedErrors) == ErrorBuffer::kBytes);

template <size_t N>
std::string_view reported_text(const char (&text)[N]) {
  return {text, strnlen(text, N)};
}

}  // namespace

Address ErrorBuffer::address() {
  const std::lock_guard lock(mutex_);
  if (address_ != 0) return address_;
  if (queue_ == nullptr) queue_ = accelerator_.make_queue();
  const Address made = accelerator_.allocate(kBytes);
  if (made == 0)
    throw OutOfMemory("the device has no memory left for the buffer in which kernels report errors", kBytes, 0, 0);
  const uint32_t zero = 0;
  queue_->fill(made, &zero, sizeof zero, kBytes, nullptr);
  queue_->synchronize();
  return address_ = made;
}

void ErrorBuffer::check(uint64_t launches) {
  if (launches > checked_.load(std::memory_order_acquire)) read(launches);
}

void ErrorBuffer::read(uint64_t launches) {
  const std::lock_guard lock(mutex_);
  if (address_ == 0 || launches <= checked_.load(std::memory_order_relaxed)) return;
  ReportedErrors errors;
  queue_->download(address_, &errors.count, sizeof errors.count, nullptr);
  checked_.store(launches, std::memory_order_release);
  if (errors.count == 0) return;
  queue_->download(address_, &errors, sizeof errors, nullptr);
  const uint32_t zero = 0;
  queue_->fill(address_, &zero, sizeof zero, sizeof zero, nullptr);
  queue_->synchronize();  // before a launch that reports again
  const ReportedError& first = errors.messages[0];
  throw DeviceError(base::format("{}:{}: in {}: {}{}", reported_text(first.file), first.line,
                                 reported_text(first.function), reported_text(first.text),
                                 errors.count > 1 ? base::format(" (and {} more)", errors.count - 1) : ""));
}

void ErrorBuffer::forget() {
  const std::lock_guard lock(mutex_);
  queue_.reset();
  address_ = 0;  // the reset destroys its memory
  checked_.store(launches(), std::memory_order_release);
}

}  // namespace kymo::device
