// The quick way to tensors of other libraries: DLPack's table of C functions (DLPack 1.3, in newer libraries), for the
// arguments of a launch. It makes no objects, and does not call Python code as __dlpack__() does.
#pragma once

#include <Python.h>

#include <cstdint>

#include "device/dlpack_abi.h"

namespace kymo::python {

// The functions of the library of this tensor; null: it has none that Kymo can use. Looked up once for each type.
const dlpack::Exchange* exchange_of(PyObject* object);

// Where the tensor is now. It stays valid while the caller holds the object and runs no other code. Throws
// PythonErrorSet.
dlpack::View view_of(const dlpack::Exchange& exchange, PyObject* object);

// The handle of the stream on which the library queues its next work on this device. Throws PythonErrorSet.
uint64_t current_stream_of(const dlpack::Exchange& exchange, const dlpack::Device& device);

}  // namespace kymo::python
