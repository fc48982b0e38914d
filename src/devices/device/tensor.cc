// Tensors as values: views, shapes, strides. tensor_contents.cc moves their contents.
#include "kymo/tensor.h"

#include <algorithm>

#include "base/text.h"
#include "device/storage.h"
#include "device/stream_state.h"

namespace kymo::device {
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

}  // namespace kymo::device
