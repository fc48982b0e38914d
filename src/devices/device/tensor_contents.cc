// Moves the contents of tensors: fills and copies.

#include <cmath>
#include <cstring>
#include <memory>

#include "base/text.h"
#include "device/number.h"
#include "device/storage.h"
#include "device/stream_state.h"
#include "device/strided_copy.h"
#include "device/work_capture.h"
#include "kymo/tensor.h"

namespace kymo::device {
namespace {

Operation moved(OperationKind kind, size_t bytes, const Tensor* from, const Tensor* to, const void* host = nullptr) {
  Operation operation;
  operation.kind = kind;
  operation.bytes = bytes;
  operation.from = from;
  operation.to = to;
  operation.host = host;
  return operation;
}

// This thread's stream, which will use the tensor next.
StreamState& stream_for(const Tensor& tensor) {
  StreamState& stream = tensor.device().state().current_stream();
  tensor.storage()->use_on(stream);
  return stream;
}

// One past the last byte of its elements, in its storage.
size_t end_of(const Tensor& tensor) {
  int64_t last = 0;
  for (int i = 0; i < tensor.shape().dimensions(); ++i)
    last += (tensor.shape()[i] - 1) * tensor.strides()[static_cast<size_t>(i)];
  return tensor.offset() + (static_cast<size_t>(last) + 1) * size_of(tensor.dtype());
}

bool may_overlap(const Tensor& a, const Tensor& b) {
  return a.storage() == b.storage() && a.offset() < end_of(b) && b.offset() < end_of(a);
}

void copy_packed(const Tensor& from, const Tensor& to) {
  StreamState& stream = stream_for(to);
  from.storage()->use_on(stream);
  const Address source = from.address(), target = to.address();
  const size_t bytes = to.bytes();
  if (WorkCapture* capture = work_capture()) capture->copy(from, to);
  stream.run([&] { return moved(OperationKind::CopyOnDevice, bytes, &from, &to); },
             [&](Queue& queue, Ticket* ticket) { queue.copy(source, target, bytes, ticket); });
}

}  // namespace

void Tensor::fill(double value) {
  alignas(8) std::byte pattern[8];
  if (!store_number(Number::of(value), dtype_, pattern))
    throw InvalidArgument(base::format("{} does not fit a tensor of {}", value, name_of(dtype_)));
  const Address target = address();
  const size_t size = bytes();
  if (size == 0) return;
  if (!is_contiguous()) {
    Tensor packed = empty(shape_, dtype_, device());
    packed.fill(value);
    return copy_from(packed);
  }
  if (WorkCapture* capture = work_capture()) capture->fill(*this, value);
  stream_for(*this).run([&] { return moved(OperationKind::Fill, size, nullptr, this); },
                        [&](Queue& queue, Ticket* ticket) {
                          queue.fill(target, pattern, static_cast<uint32_t>(size_of(dtype_)), size, ticket);
                        });
}

void Tensor::copy_from(const Tensor& from) {
  if (from.shape_ != shape_ || from.dtype_ != dtype_) {
    throw InvalidArgument(base::format("a tensor of {} {} cannot be copied into one of {} {}", name_of(from.dtype_),
                                       from.shape_.text(), name_of(dtype_), shape_.text()));
  }
  if (bytes() == 0) return;
  if (from.device() != device()) {
    const auto bytes = from.to_host_bytes();
    return copy_from_bytes(bytes);
  }
  if (may_overlap(from, *this)) {
    if (from.offset_ == offset_ && from.strides_ == strides_) return;  // onto itself
    return copy_from(from.clone());                                    // no device guarantees an order within a copy
  }
  if (is_contiguous() && from.is_contiguous()) return copy_packed(from, *this);
  strided_copy(from, *this);
}

void Tensor::copy_from_bytes(std::span<const std::byte> from) {
  if (from.size() != bytes()) {
    throw InvalidArgument(base::format("the source has {} bytes, but a tensor of {} {} has {}", from.size(),
                                       name_of(dtype_), shape_.text(), bytes()));
  }
  const Address target = address();
  if (from.empty()) return;
  if (!is_contiguous()) {
    Tensor packed = empty(shape_, dtype_, device());
    packed.copy_from_bytes(from);
    return copy_from(packed);
  }
  if (WorkCapture* capture = work_capture()) capture->upload(*this, from);
  stream_for(*this).run([&] { return moved(OperationKind::CopyHostToDevice, from.size(), nullptr, this, from.data()); },
                        [&](Queue& queue, Ticket* ticket) { queue.upload(from.data(), target, from.size(), ticket); });
}

void Tensor::copy_to_bytes(std::span<std::byte> to) const {
  if (to.size() != bytes()) {
    throw InvalidArgument(base::format("the destination has {} bytes, but a tensor of {} {} has {}", to.size(),
                                       name_of(dtype_), shape_.text(), bytes()));
  }
  if (to.empty()) return;
  const Tensor packed = contiguous();
  const Address source = packed.address();
  if (WorkCapture* capture = work_capture()) capture->download(packed);
  stream_for(packed).run(
      [&] {
        Operation operation = moved(OperationKind::CopyDeviceToHost, to.size(), &packed, nullptr, to.data());
        operation.blocking = true;  // except into page-locked memory, where the copy is only queued
        return operation;
      },
      [&](Queue& queue, Ticket* ticket) { queue.download(source, to.data(), to.size(), ticket); });
}

std::vector<std::byte> Tensor::to_host_bytes() const {
  std::vector<std::byte> host(bytes());
  copy_to_bytes(host);
  return host;
}

Tensor Tensor::contiguous() const {
  if (!is_defined() || is_contiguous()) return *this;
  return clone();
}

Tensor Tensor::clone() const {
  Tensor copy = empty(shape_, dtype_, device());
  copy.copy_from(*this);
  return copy;
}

Tensor Tensor::to(Device where) const {
  if (where == device()) return *this;
  Tensor copy = empty(shape_, dtype_, where);
  copy.copy_from(*this);
  return copy;
}

void Tensor::check_host_type(DType type) const {
  if (type == dtype_) return;
  // A bool is one byte on the host and on the device.
  if (size_of(type) == 1 && size_of(dtype_) == 1 && (type == DType::Bool || dtype_ == DType::Bool)) return;
  throw InvalidArgument(base::format("a tensor of {} cannot be read or written as {}", name_of(dtype_), name_of(type)));
}

std::vector<float> Tensor::floats() const {
  std::vector<uint16_t> bits(static_cast<size_t>(elements()));
  copy_to_bytes(std::as_writable_bytes(std::span(bits)));
  std::vector<float> values(bits.size());
  for (size_t i = 0; i < bits.size(); ++i) {
    values[i] = dtype_ == DType::F16 ? static_cast<float>(Half::from_bits(bits[i]))
                                     : static_cast<float>(BFloat16::from_bits(bits[i]));
  }
  return values;
}

void Tensor::set_floats(std::span<const float> from) {
  std::vector<uint16_t> bits(from.size());
  for (size_t i = 0; i < from.size(); ++i)
    bits[i] = dtype_ == DType::F16 ? Half(from[i]).bits() : BFloat16(from[i]).bits();
  copy_from_bytes(std::as_bytes(std::span(bits)));
}

// ---- Creation ------------------------------------------------------------------------------------------------------

Tensor zeros(Shape shape, DType dtype) { return full(shape, 0, dtype); }

Tensor full(Shape shape, double value, DType dtype) {
  Tensor tensor = empty(shape, dtype);
  tensor.fill(value);
  return tensor;
}

Tensor arange(double begin, double end, double step, DType dtype) {
  const double count = std::ceil((end - begin) / step);
  if (step == 0 || !std::isfinite(count) || count > static_cast<double>(INT64_MAX >> 3))
    throw InvalidArgument(
        base::format("a range from {} to {} in steps of {} is infinite or too long", begin, end, step));
  const auto elements = static_cast<size_t>(std::max(count, 0.0));
  std::vector<std::byte> values(elements * size_of(dtype));
  for (size_t i = 0; i < elements; ++i) {
    const double value = begin + static_cast<double>(i) * step;
    if (!store_number(Number::of(value), dtype, values.data() + i * size_of(dtype)))
      throw InvalidArgument(base::format("value {} of this range does not fit a tensor of {}", value, name_of(dtype)));
  }
  Tensor tensor = empty({static_cast<int64_t>(elements)}, dtype);
  tensor.copy_from_bytes(values);
  return tensor;
}

// ---- Host memory ---------------------------------------------------------------------------------------------------

HostBuffer::HostBuffer(size_t bytes, Device device)
    : device_(device), bytes_(bytes), generation_(device.state().generation()) {
  device.state().check_usable();
  if (bytes == 0) return;
  memory_ = device.state().accelerator().allocate_host(bytes);
  if (memory_ == nullptr) {
    throw OutOfMemory(base::format("{} cannot lock {} bytes of host memory; allocate less, or raise `ulimit -l`",
                                   device.name(), bytes),
                      bytes, 0, 0);
  }
}

HostBuffer::~HostBuffer() {
  if (memory_ == nullptr || forked_with_devices || generation_ != device_.state().generation()) return;
  device_.state().accelerator().release_host(memory_);
}

std::span<std::byte> HostBuffer::bytes() const {
  if (memory_ != nullptr && generation_ != device_.state().generation())
    throw Error("this host memory was allocated before its device was reset and is no longer valid: allocate it again");
  return {static_cast<std::byte*>(memory_), bytes_};
}

HostBuffer::HostBuffer(HostBuffer&& other) noexcept
    : device_(other.device_),
      memory_(std::exchange(other.memory_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      generation_(other.generation_) {}

HostBuffer& HostBuffer::operator=(HostBuffer&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(memory_, other.memory_);
  std::swap(bytes_, other.bytes_);
  std::swap(generation_, other.generation_);
  return *this;
}

}  // namespace kymo::device
