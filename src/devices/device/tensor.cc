#include "kymo/tensor.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>

#include "base/text.h"
#include "device/builtin.h"
#include "device/storage.h"
#include "device/stream_state.h"
#include "device/value_bytes.h"
#include "device/work_capture.h"

namespace kymo::device {

Shape::Shape(std::span<const int64_t> sizes) : dimensions_(static_cast<int>(sizes.size())) {
  if (sizes.size() > kMaxDimensions)
    throw InvalidArgument(
        base::format("a shape of {} dimensions is not supported: the max is {}", sizes.size(), kMaxDimensions));
  int64_t product = 1;
  bool too_many = false, empty = false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0)
      throw InvalidArgument(base::format("a shape of [{}]: dimension {} is negative", base::join(sizes, ", "), i));
    sizes_[i] = sizes[i];
    empty |= sizes[i] == 0;
    too_many |= __builtin_mul_overflow(product, sizes[i], &product);
  }
  // The size in bytes must not overflow either, with 8 bytes per element.
  if (!empty && (too_many || product > (INT64_MAX >> 3))) {
    throw InvalidArgument(
        base::format("a shape of [{}] has more elements than can be counted", base::join(sizes, ", ")));
  }
}

int64_t Shape::elements() const {
  // Check for an empty dimension first: with one, the product of the other dimensions may overflow.
  if (std::ranges::find(sizes(), 0) != sizes().end()) return 0;
  return std::accumulate(sizes().begin(), sizes().end(), int64_t{1}, std::multiplies<>());
}

std::string Shape::text() const { return base::format("[{}]", base::join(sizes(), ", ")); }

// ---- Tensors as values: views, shapes, strides ---------------------------------------------------------------------

namespace {

Tensor::Strides packed_strides(const Shape& shape) {
  Tensor::Strides strides{};
  int64_t stride = 1;
  for (int i = shape.dimensions() - 1; i >= 0; --i) {
    strides[static_cast<size_t>(i)] = stride;
    stride *= std::max<int64_t>(shape[i], 1);
  }
  return strides;
}

size_t checked_dimension(const Shape& shape, int dimension) {
  const int wanted = dimension < 0 ? dimension + shape.dimensions() : dimension;
  if (wanted < 0 || wanted >= shape.dimensions())
    throw InvalidArgument(
        base::format("dimension {} is out of range for a tensor of shape {}", dimension, shape.text()));
  return static_cast<size_t>(wanted);
}

}  // namespace

Device Tensor::device() const {
  if (!is_defined()) throw Error("this tensor is undefined: it was never given a value");
  return Device(storage_->device());
}

uint64_t Tensor::address() const {
  if (!is_defined()) throw Error("this tensor is undefined: it was never given a value");
  const Address base = storage_->address();
  return base == 0 ? 0 : base + offset_;
}

bool Tensor::is_contiguous() const {
  int64_t expected = 1;
  for (int i = shape_.dimensions() - 1; i >= 0; --i) {
    if (shape_[i] == 0) return true;
    if (shape_[i] != 1 && strides_[static_cast<size_t>(i)] != expected) return false;
    expected *= shape_[i];
  }
  return true;
}

Tensor Tensor::slice(int dimension, int64_t begin, int64_t end, int64_t step) const {
  const size_t at = checked_dimension(shape_, dimension);
  if (step < 1) throw InvalidArgument(base::format("slice step {} is out of range: it must be 1 or more", step));
  const int64_t size = shape_[static_cast<int>(at)];
  const auto within = [&](int64_t index) { return std::clamp<int64_t>(index < 0 ? index + size : index, 0, size); };
  const int64_t first = within(begin), last = std::max(first, within(end));

  std::array<int64_t, kMaxDimensions> sizes{};
  std::copy(shape_.sizes().begin(), shape_.sizes().end(), sizes.begin());
  sizes[at] = (last - first) / step + ((last - first) % step != 0 ? 1 : 0);
  Strides strides = strides_;
  strides[at] *= step;
  const Shape shape(std::span<const int64_t>(sizes.data(), static_cast<size_t>(shape_.dimensions())));
  const size_t skipped = static_cast<size_t>(first * strides_[at]) * size_of(dtype_);
  return {storage_, dtype_, shape, strides, shape.elements() == 0 ? offset_ : offset_ + skipped};
}

Tensor Tensor::select(int dimension, int64_t index) const {
  const size_t at = checked_dimension(shape_, dimension);
  const int64_t size = shape_[static_cast<int>(at)];
  const int64_t wanted = index < 0 ? index + size : index;
  if (wanted < 0 || wanted >= size) {
    throw InvalidArgument(base::format("index {} is out of range for dimension {} of a tensor of shape {}", index,
                                       dimension, shape_.text()));
  }
  const Tensor one = slice(dimension, wanted, wanted + 1);
  std::vector<int64_t> sizes(shape_.sizes().begin(), shape_.sizes().end());
  sizes.erase(sizes.begin() + static_cast<ptrdiff_t>(at));
  Strides strides = one.strides_;
  std::copy(strides.begin() + static_cast<ptrdiff_t>(at) + 1, strides.end(),
            strides.begin() + static_cast<ptrdiff_t>(at));
  return {storage_, dtype_, Shape(sizes), strides, one.offset_};
}

Tensor Tensor::reshape(Shape shape) const {
  if (shape.elements() != elements()) {
    throw InvalidArgument(
        base::format("a tensor of shape {} has {} elements and cannot be reshaped to {}, which has {}", shape_.text(),
                     elements(), shape.text(), shape.elements()));
  }
  const Tensor packed = contiguous();
  return {packed.storage_, dtype_, shape, packed_strides(shape), packed.offset_};
}

Tensor empty(Shape shape, DType dtype) { return empty(shape, dtype, Device::current()); }

Tensor empty(Shape shape, DType dtype, Device device) {
  DeviceState& state = device.state();
  const size_t bytes = static_cast<size_t>(shape.elements()) * size_of(dtype);
  return {std::make_shared<Storage>(state, bytes, state.current_stream()), dtype, shape, packed_strides(shape), 0};
}

// ---- Contents: fills and copies ------------------------------------------------------------------------------------

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

// ---- Memory of other libraries, and the host's view of tensors -----------------------------------------------------

namespace {

// The bytes from the first element to the end of the last one; 0 if there is no element.
size_t checked_extent(uint64_t address, DType dtype, const Shape& shape, std::span<const int64_t> strides) {
  if (strides.size() != static_cast<size_t>(shape.dimensions())) {
    throw InvalidArgument(
        base::format("{} strides were given for a tensor of shape {}: one for each dimension is needed", strides.size(),
                     shape.text()));
  }
  if (address % size_of(dtype) != 0) {
    throw InvalidArgument(base::format("memory at {:#x} cannot be a tensor of {}: its address must be a multiple of {}",
                                       address, name_of(dtype), size_of(dtype)));
  }
  int64_t last = 0;
  for (size_t i = 0; i < strides.size(); ++i) {
    int64_t span = 0;
    if (strides[i] < 0) throw InvalidArgument(base::format("stride {} is negative: copy the data first", strides[i]));
    if (__builtin_mul_overflow(std::max<int64_t>(shape[static_cast<int>(i)] - 1, 0), strides[i], &span) ||
        __builtin_add_overflow(last, span, &last) || last > INT64_MAX / 16)
      throw InvalidArgument(base::format("stride {} is too large for a tensor of shape {}", strides[i], shape.text()));
  }
  return shape.elements() == 0 ? 0 : (static_cast<size_t>(last) + 1) * size_of(dtype);
}

Tensor foreign(DeviceState& device, Address address, size_t extent, bool shared_host, DType dtype, const Shape& shape,
               std::span<const int64_t> strides, std::shared_ptr<void> owner) {
  Tensor::Strides kept{};
  std::copy(strides.begin(), strides.end(), kept.begin());
  return {std::make_shared<Storage>(device, address, extent, shared_host, std::move(owner)), dtype, shape, kept, 0};
}

}  // namespace

void* Tensor::host_address() const {
  const uint64_t at = address();
  return at == 0 ? nullptr : storage_->device().accelerator().host_address(at);
}

namespace {

Tensor over_device_memory(uint64_t address, DType dtype, const Shape& shape, std::span<const int64_t> strides,
                          const Device& device, std::shared_ptr<void> owner) {
  DeviceState& state = device.state();
  state.check_usable();
  const size_t extent = checked_extent(address, dtype, shape, strides);
  if (!state.accelerator().uses_foreign_memory()) {
    throw NotAvailable(
        base::format("{} cannot use device memory of another library: copy the data through the host", device.name()));
  }
  return foreign(state, extent == 0 ? 0 : address, extent, false, dtype, shape, strides, std::move(owner));
}

}  // namespace

Tensor from_device_memory(uint64_t address, DType dtype, Shape shape, std::span<const int64_t> strides, Device device,
                          std::shared_ptr<void> owner) {
  if (owner == nullptr) owner = std::make_shared<char>();
  return over_device_memory(address, dtype, shape, strides, device, std::move(owner));
}

Tensor borrow_device_memory(uint64_t address, DType dtype, Shape shape, std::span<const int64_t> strides,
                            Device device) {
  return over_device_memory(address, dtype, shape, strides, device, nullptr);
}

Tensor from_host_memory(void* memory, DType dtype, Shape shape, std::span<const int64_t> strides, Device device,
                        std::shared_ptr<void> owner) {
  DeviceState& state = device.state();
  state.check_usable();
  const size_t extent = checked_extent(reinterpret_cast<uint64_t>(memory), dtype, shape, strides);
  const Address address = extent == 0 ? 0 : state.accelerator().share_host(memory, extent);
  if (extent != 0 && address == 0) return {};
  if (owner == nullptr) owner = std::make_shared<char>();
  return foreign(state, address, extent, address != 0, dtype, shape, strides, std::move(owner));
}

}  // namespace kymo::device
