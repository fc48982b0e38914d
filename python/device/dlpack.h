// DLPack: tensors of one library in another, without a copy. Capsules of both layouts are read and written: the old one
// ("dltensor") and the versioned one ("dltensor_versioned").
#pragma once

#include <Python.h>

#include <cstdint>

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
// should be. `copy`: None (only if needed), True or False (BufferError if needed). Work of `stream` runs after the work
// that the other library has queued.
device::Tensor from_dlpack(PyObject* object, PyObject* device, PyObject* copy, const device::Stream* stream = nullptr);

}  // namespace kymo::python
