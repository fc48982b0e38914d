// x[index]: a view of a tensor.
#pragma once

#include <Python.h>

#include "kymo/tensor.h"

namespace kymo::python {

// `index` is an int, a slice with a positive step, `...`, or a tuple of these. Throws PythonErrorSet with an
// IndexError, a ValueError or a TypeError.
device::Tensor view_at(const device::Tensor& tensor, PyObject* index);

}  // namespace kymo::python
