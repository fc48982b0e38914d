// Tensors over memory of other libraries, and the host's view of tensors.

#include <algorithm>
#include <cstdint>

#include "base/text.h"
#include "device/storage.h"
#include "kymo/tensor.h"

namespace kymo::device {
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
