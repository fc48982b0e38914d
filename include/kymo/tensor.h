// Tensors: arrays in device memory. A copy of a tensor refers to the same memory. The last copy returns the memory to
// the device's cache.
//
//   Tensor x = from_host(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3});
//   Tensor row = x.select(0, 1);          // shares x's memory
//   row.fill(7);
//   x.to_host<float>();                    // 1 2 3 7 7 7
//
// Creating, filling and copying are queued on this thread's current stream. A tensor may be used on another stream than
// the one it was made on, after an event orders the two. Its memory is not reused before both streams have finished
// with it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kymo/accelerator.h"
#include "kymo/dtype.h"

namespace kymo::device {

class Storage;  // internal to the runtime

inline constexpr int kMaxDimensions = 8;

// Sizes of the dimensions, outermost first. {} is a single number (0 dimensions).
class KYMO_API Shape {
 public:
  Shape() = default;
  // Throws InvalidArgument for a negative size, more than 8 dimensions, or a product that does not fit 63 bits.
  Shape(std::initializer_list<int64_t> sizes) : Shape(std::span(sizes.begin(), sizes.size())) {}
  explicit Shape(std::span<const int64_t> sizes);

  int dimensions() const { return dimensions_; }
  int64_t operator[](int dimension) const { return sizes_[static_cast<size_t>(dimension)]; }
  int64_t elements() const;
  std::span<const int64_t> sizes() const { return {sizes_.data(), static_cast<size_t>(dimensions_)}; }
  std::string text() const;  // "[2, 3]"
  bool operator==(const Shape&) const = default;

 private:
  std::array<int64_t, kMaxDimensions> sizes_{};
  int dimensions_ = 0;
};

class KYMO_API Tensor {
 public:
  Tensor() = default;  // undefined: is_defined() is false, and everything else throws

  bool is_defined() const { return storage_ != nullptr; }
  Device device() const;
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  std::span<const int64_t> strides() const {  // in elements
    return {strides_.data(), static_cast<size_t>(shape_.dimensions())};
  }
  int64_t elements() const { return shape_.elements(); }
  size_t bytes() const { return static_cast<size_t>(elements()) * size_of(dtype_); }
  bool is_contiguous() const;
  uint64_t address() const;  // of its first element, in the device's address space; 0 if it has no address
  // The host's address of its first element, if host code may use the memory directly: memory that host and device
  // share. Otherwise null. Use it only while no work that uses the tensor is queued: synchronize() first.
  void* host_address() const;

  // ---- Views: they share the memory ----
  Tensor slice(int dimension, int64_t begin, int64_t end, int64_t step = 1) const;
  Tensor select(int dimension, int64_t index) const;  // without that dimension
  Tensor reshape(Shape shape) const;                  // the same elements; copies only if not contiguous
  Tensor contiguous() const;                          // itself, or a copy that is contiguous

  // ---- Contents ----
  void fill(double value);             // converted to the dtype; InvalidArgument if the value does not fit
  void copy_from(const Tensor& from);  // same shape and dtype; from any device
  // Elements in row-major order. T must be the type of the dtype. For f16 and bf16 it may be float, which converts.
  template <class T>
  void copy_from(std::span<const T> from);
  template <class T>
  void copy_to(std::span<T> to) const;
  template <class T>
  std::vector<T> to_host() const;
  Tensor to(Device where) const;  // itself if it is already on that device
  Tensor clone() const;

  // The same with raw bytes: exactly bytes() of them. A copy from or to a HostBuffer is only queued, and the call does
  // not wait for it: the buffer must stay valid until the stream has completed the copy.
  void copy_from_bytes(std::span<const std::byte> from);
  void copy_to_bytes(std::span<std::byte> to) const;
  std::vector<std::byte> to_host_bytes() const;

  using Strides = std::array<int64_t, kMaxDimensions>;
  Tensor(std::shared_ptr<Storage> storage, DType dtype, const Shape& shape, const Strides& strides, size_t offset)
      : storage_(std::move(storage)), shape_(shape), strides_(strides), offset_(offset), dtype_(dtype) {}
  const std::shared_ptr<Storage>& storage() const { return storage_; }
  size_t offset() const { return offset_; }  // of the first element in the storage, in bytes

 private:
  void check_host_type(DType type) const;
  std::vector<float> floats() const;  // of f16 and bf16
  void set_floats(std::span<const float> from);

  std::shared_ptr<Storage> storage_;
  Shape shape_;
  Strides strides_{};
  size_t offset_ = 0;
  DType dtype_ = DType::F32;
};

// ---- Creating tensors ----------------------------------------------------------------------------------------------

KYMO_API Tensor empty(Shape shape, DType dtype = DType::F32);
KYMO_API Tensor empty(Shape shape, DType dtype, Device device);
KYMO_API Tensor zeros(Shape shape, DType dtype = DType::F32);
KYMO_API Tensor full(Shape shape, double value, DType dtype = DType::F32);
// begin, begin + step, … up to end, without end. Computed as begin + i * step in double, converted, and copied to the
// device.
KYMO_API Tensor arange(double begin, double end, double step = 1, DType dtype = DType::F32);

template <class T>
Tensor from_host(std::span<const T> values, Shape shape) {
  Tensor tensor = empty(shape, dtype_of<T>());
  tensor.copy_from(values);
  return tensor;
}
template <class T>
Tensor from_host(const std::vector<T>& values, Shape shape) {
  return from_host(std::span<const T>(values), shape);
}
template <class T>
Tensor from_host(const std::vector<T>& values) {
  return from_host(values, {static_cast<int64_t>(values.size())});
}

// ---- Memory of other libraries
// ---------------------------------------------------------------------------------------
//
// A tensor over memory that another library allocated. Nothing is copied. `owner` is released when the last view of the
// tensor is gone and no queued work uses the memory any more: destroying it may wait for that work. Strides are in
// elements, and not negative. Throws InvalidArgument for other strides, and if the address is not a multiple of the
// element's size.

// Memory of the device, by its address in it. Throws NotAvailable if the backend cannot use such memory: only CUDA can.
KYMO_API Tensor from_device_memory(uint64_t address, DType dtype, Shape shape, std::span<const int64_t> strides,
                                   Device device, std::shared_ptr<void> owner);
// The same for memory that the caller keeps and orders itself: destroying the tensor does not wait for work that uses
// it. For a tensor that is only the argument of a launch, with Stream::follow before and Stream::precede after it.
KYMO_API Tensor borrow_device_memory(uint64_t address, DType dtype, Shape shape, std::span<const int64_t> strides,
                                     Device device);
// Memory of the host. Undefined if the device cannot use it without a copy: then copy it.
KYMO_API Tensor from_host_memory(void* memory, DType dtype, Shape shape, std::span<const int64_t> strides,
                                 Device device, std::shared_ptr<void> owner);

// Page-locked host memory. The device copies from and to it at full speed, and the host does not wait for the copy.
class KYMO_API HostBuffer {
 public:
  explicit HostBuffer(size_t bytes) : HostBuffer(bytes, Device::current()) {}
  HostBuffer(size_t bytes, Device device);
  ~HostBuffer();
  HostBuffer(HostBuffer&& other) noexcept;
  HostBuffer& operator=(HostBuffer&& other) noexcept;

  // Throws Error if the device has been reset: the memory is gone then.
  std::span<std::byte> bytes() const;
  template <class T>
  std::span<T> as() const {
    const auto all = bytes();
    return {reinterpret_cast<T*>(all.data()), all.size() / sizeof(T)};
  }

 private:
  Device device_;
  void* memory_ = nullptr;
  size_t bytes_ = 0;
  uint32_t generation_ = 0;  // of the device
};

// ---- Implementation of the templates -------------------------------------------------------------------------------

template <class T>
void Tensor::copy_from(std::span<const T> from) {
  if constexpr (std::is_same_v<T, float>) {
    if (dtype_ == DType::F16 || dtype_ == DType::BF16) return set_floats(from);
  }
  check_host_type(dtype_of<T>());
  copy_from_bytes(std::as_bytes(from));
}

template <class T>
void Tensor::copy_to(std::span<T> to) const {
  check_host_type(dtype_of<T>());
  copy_to_bytes(std::as_writable_bytes(to));
}

template <class T>
std::vector<T> Tensor::to_host() const {
  if constexpr (std::is_same_v<T, float>) {
    if (dtype_ == DType::F16 || dtype_ == DType::BF16) return floats();
  }
  check_host_type(dtype_of<T>());
  if constexpr (std::is_same_v<T, bool>) {
    std::vector<uint8_t> bytes(static_cast<size_t>(elements()));
    copy_to_bytes(std::as_writable_bytes(std::span(bytes)));
    return {bytes.begin(), bytes.end()};
  } else {
    std::vector<T> values(static_cast<size_t>(elements()));
    copy_to_bytes(std::as_writable_bytes(std::span(values)));
    return values;
  }
}

}  // namespace kymo::device
