// Views of a tensor: x[index] and x.view(shape).
#pragma once

#include <Python.h>

#include "kymo/tensor.h"

namespace kymo::python {

// `index` is an int, a slice with a positive step, `...`, or a tuple of these. Throws PythonErrorSet with an
// IndexError, a ValueError or a TypeError.
device::Tensor view_at(const device::Tensor& tensor, PyObject* index);

// The same memory with another shape. Throws InvalidArgument if only a copy can have it.
device::Tensor view_as(const device::Tensor& tensor, const device::Shape& shape);

}  // namespace kymo::python
