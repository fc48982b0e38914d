#include "profiler/text.h"

#include <array>
#include <iterator>

#include "base/text.h"
#include "device/storage.h"
#include "kymo/accelerator.h"
#include "kymo/shader.h"

namespace kymo::profiler {
namespace {

using device::KernelArgument;
using device::OperationKind;
using device::Tensor;

void append_times(std::string& text, const MessageTimes& times) {
  if (times.gpu_ns != 0) base::format_to(text, ", gpu={:.3f} ms", static_cast<double>(times.gpu_ns) / 1e6);
  if (times.cpu_ns != 0) base::format_to(text, ", cpu={:.3f} ms", static_cast<double>(times.cpu_ns) / 1e6);
  text += ')';
}

void append_tensor(std::string& text, const Tensor& tensor, bool with_buffer) {
  text += ':';
  text += tensor_text(tensor, with_buffer);
}

// One side of a copy: a tensor on the device, or memory of the host.
std::string copy_side(const Tensor* tensor, bool on_device, const void* host, std::string_view device,
                      bool with_buffers) {
  if (tensor != nullptr) return tensor_text(*tensor, with_buffers);
  if (on_device) return std::string(device);
  return base::format("host:{}", host);
}

}  // namespace

std::string size_text(uint64_t bytes) {
  constexpr std::array<std::string_view, 6> kUnits{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes <= 1024) return base::format("{} B", bytes);
  double size = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; size > 1024 && unit + 1 < kUnits.size(); ++unit) size /= 1024;
  return base::format("{:.2f} {}", size, kUnits[unit]);
}

std::string tensor_text(const Tensor& tensor, bool with_buffer) {
  if (!tensor.is_defined()) return "undefined";
  const device::Storage& storage = *tensor.storage();
  std::string text = storage.device().name();
  if (with_buffer) base::format_to(text, "(buf#{}:{})", storage.id(), tensor.storage().use_count());
  text += ':';
  text += name_of(tensor.dtype());
  text += tensor.shape().text();
  return text;
}

uint64_t bytes_of(std::span<const Tensor* const> tensors) {
  uint64_t bytes = 0;
  for (const Tensor* tensor : tensors)
    if (tensor != nullptr && tensor->is_defined()) bytes += tensor->bytes();
  return bytes;
}

std::string kernel_key(const device::Operation& operation, bool with_buffers) {
  if (operation.kind == OperationKind::Fill) {
    std::string key = "fill";
    if (operation.to != nullptr) append_tensor(key, *operation.to, with_buffers);
    return key;
  }
  std::string key(operation.name);
  for (const KernelArgument& argument : operation.arguments) {
    if (argument.kind() == KernelArgument::Kind::Tensor) append_tensor(key, argument.tensor(), with_buffers);
    if (argument.kind() == KernelArgument::Kind::Tensors)
      for (const Tensor& tensor : argument.tensors()) append_tensor(key, tensor, with_buffers);
  }
  return key;
}

std::string copy_key(const device::Operation& operation, std::string_view device, bool with_buffers) {
  return base::format(
      "BlitCopy{}: {} --> {}", operation.blocking ? "Sync" : "",
      copy_side(operation.from, operation.kind != OperationKind::CopyHostToDevice, operation.host, device,
                with_buffers),
      copy_side(operation.to, operation.kind != OperationKind::CopyDeviceToHost, operation.host, device, with_buffers));
}

std::string scope_key(std::string_view name, std::span<const Tensor* const> tensors, bool with_buffers) {
  std::string key(name);
  for (const Tensor* tensor : tensors)
    if (tensor != nullptr) append_tensor(key, *tensor, with_buffers);
  return key;
}

std::string operation_message(std::string_view key, std::string_view id, uint64_t run, const MessageTimes& times) {
  std::string text = base::format("{} (id={}, run={}", key, id, run);
  append_times(text, times);
  return text;
}

std::string copy_message(std::string_view key, uint64_t bytes, const MessageTimes& times) {
  std::string text = base::format("{} (len={}", key, size_text(bytes));
  append_times(text, times);
  return text;
}

std::string fallback_message(std::string_view key, uint64_t number, uint64_t run, uint64_t copied_bytes,
                             const MessageTimes& times) {
  std::string text =
      base::format("Host Fallback::{} (id={}, run={}, CopyOverhead={}", key, number, run, size_text(copied_bytes));
  append_times(text, times);
  return text;
}

}  // namespace kymo::profiler
