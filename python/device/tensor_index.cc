#include "device/tensor_index.h"

#include <string>

#include "kymo/error.h"
#include "support/arguments.h"
#include "support/errors.h"
#include "support/owned.h"

namespace kymo::python {
namespace {

using device::Tensor;

// Applies one index to the dimension; moves on to the next one.
Tensor apply(const Tensor& tensor, PyObject* index, int& dimension) {
  if (dimension >= tensor.shape().dimensions()) {
    PyErr_Format(PyExc_IndexError, "too many indices for tensor of dimension %d", tensor.shape().dimensions());
    throw PythonErrorSet{};
  }
  const int64_t size = tensor.shape()[dimension];
  if (PySlice_Check(index)) {
    Py_ssize_t begin = 0, end = 0, step = 0;
    check(PySlice_Unpack(index, &begin, &end, &step));
    if (step < 1) {
      PyErr_SetString(PyExc_ValueError, "step must be greater than zero");
      throw PythonErrorSet{};
    }
    PySlice_AdjustIndices(size, &begin, &end, step);
    return tensor.slice(dimension++, begin, end, step);
  }
  if (PyIndex_Check(index) == 0) {
    set_type_error("an index of a tensor", "an int, a slice or ...", index);
    throw PythonErrorSet{};
  }
  const auto number = int_argument(index, "an index of a tensor");
  if (!number) throw PythonErrorSet{};
  if (*number < -size || *number >= size) {
    PyErr_Format(PyExc_IndexError, "index %lld is out of bounds for dimension %d with size %lld",
                 static_cast<long long>(*number), dimension, static_cast<long long>(size));
    throw PythonErrorSet{};
  }
  return tensor.select(dimension, *number);
}

}  // namespace

Tensor view_at(const Tensor& tensor, PyObject* index) {
  int dimension = 0;
  if (index == Py_Ellipsis) return tensor;
  if (!PyTuple_Check(index)) return apply(tensor, index, dimension);
  const Py_ssize_t count = PyTuple_Size(index);
  Tensor view = tensor;
  bool seen = false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* one = PyTuple_GetItem(index, i);
    if (one != Py_Ellipsis) {
      view = apply(view, one, dimension);
      continue;
    }
    if (seen) {
      PyErr_SetString(PyExc_IndexError, "an index can only have a single ellipsis ('...')");
      throw PythonErrorSet{};
    }
    seen = true;
    dimension = view.shape().dimensions() - static_cast<int>(count - i - 1);
    if (dimension < 0) dimension = view.shape().dimensions();  // too many indices follow
  }
  return view;
}

Tensor view_as(const Tensor& tensor, const device::Shape& shape) {
  const device::Shape& from = tensor.shape();
  if (tensor.is_contiguous() || from.elements() == 0 || shape.elements() != from.elements())
    return tensor.reshape(shape);
  // From the innermost dimension: those that follow each other in memory at one distance are one run, and the new
  // dimensions must divide the runs.
  Tensor::Strides strides{};
  int next = shape.dimensions() - 1;
  int64_t distance = tensor.strides().back(), in_run = 1, taken = 1;
  bool fits = true;
  for (int i = from.dimensions() - 1; i >= 0; --i) {
    in_run *= from[i];
    const int64_t outer = i > 0 ? tensor.strides()[static_cast<size_t>(i - 1)] : 0;
    if (i > 0 && (from[i - 1] == 1 || outer == in_run * distance)) continue;
    for (; next >= 0 && (taken < in_run || shape[next] == 1); --next) {
      strides[static_cast<size_t>(next)] = taken * distance;
      taken *= shape[next];
    }
    fits = fits && taken == in_run;
    distance = outer;
    in_run = taken = 1;
  }
  if (!fits)
    throw InvalidArgument("view: a tensor of shape " + from.text() + " that is not contiguous cannot have shape " +
                          shape.text() + " without a copy; use reshape(), which copies it then");
  return {tensor.storage(), tensor.dtype(), shape, strides, tensor.offset()};
}

}  // namespace kymo::python
