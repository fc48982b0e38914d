// DLPack: tensors of one library in another, without a copy. Capsules of both layouts are read and written: the old one
// ("dltensor") and the versioned one ("dltensor_versioned").
#pragma once

#include <Python.h>

#include <cstdint>
#include <memory>

#include "device/dlpack_abi.h"
#include "device/types.h"

namespace kymo::python {

// Where DLPack says that a tensor is. Tensors that host code may use directly are on the CPU for other libraries.
enum class DlpackDevice : int32_t { Cpu = 1, Cuda = 2, CudaHost = 3, OpenCl = 4, Vulkan = 7, CudaManaged = 13 };

// __dlpack_device__() of a tensor: (type, id).
PyObject* dlpack_device(const device::Tensor& tensor);

// __dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None)
PyObject* to_dlpack(const device::Tensor& tensor, PyObject* stream, PyObject* max_version, PyObject* dl_device,
                    PyObject* copy);

// A tensor from an object with __dlpack__ and __dlpack_device__, or from a capsule. `device`: None, or where the tensor
// should be. `copy`: None (only if needed), True or False (BufferError if needed). Work of the device's current stream
// runs after the work that the other library has queued.
device::Tensor from_dlpack(PyObject* object, PyObject* device, PyObject* copy);

// A tensor of another library as the argument of one launch on `stream`. It does not wait for anything when it ends, so
// the caller must order the streams and then drop the owner.
struct BorrowedTensor {
  device::Tensor tensor;
  std::shared_ptr<void> owner;
};
// By __dlpack__(), which makes `stream` wait for the other library. The tensor must be on CUDA.
BorrowedTensor borrow_dlpack(PyObject* object, const device::Stream& stream);
// The same from a description, whose streams the caller orders before the launch too.
device::Tensor borrow_view(const dlpack::View& view, const device::Device& device);

bool is_cuda(const dlpack::Device& where) noexcept;

}  // namespace kymo::python
