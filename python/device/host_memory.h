// Memory of the host as tensors, and tensors as memory of the host.
#pragma once

#include <Python.h>

#include <array>
#include <memory>
#include <span>

#include "device/types.h"

namespace kymo::python {

// An array of another library, in memory that its owner keeps.
struct ForeignArray {
  void* data = nullptr;
  device::DType dtype = device::DType::F32;
  device::Shape shape;
  std::array<int64_t, device::kMaxDimensions> strides{};  // in elements; may be negative
  bool read_only = false;
  std::shared_ptr<void> owner;

  void set_strides(const int64_t* given);  // null: packed, in row-major order
  std::span<const int64_t> used_strides() const { return {strides.data(), static_cast<size_t>(shape.dimensions())}; }
};

// A tensor on the device over the array, or a copy of it. `copy`: None copies only if it must (the device has memory of
// its own, the array is read-only, has negative strides or is not aligned), True always, False never: BufferError.
device::Tensor from_host_array(ForeignArray array, const device::Device& device, PyObject* copy);

// The same for an object of the buffer protocol, such as an array of NumPy.
device::Tensor from_buffer(PyObject* object, const device::Device& device, PyObject* copy);

// The buffer protocol of tensors: for those that host code may use directly. Otherwise a BufferError.
int get_buffer(PyObject* self, Py_buffer* view, int flags) noexcept;
void release_buffer(PyObject* self, Py_buffer* view) noexcept;

// Null: host code cannot use the tensor directly. A tensor without elements has an address too, if the others have.
void* host_address(const device::Tensor& tensor);
// Waits for all work of the tensor's device, so that host code sees its results.
void synchronize_for_host(const device::Tensor& tensor);

}  // namespace kymo::python
