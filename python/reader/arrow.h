// Columns for Arrow's consumers, by its C stream interface: one batch, without a copy of the columns.
//
// https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html
#pragma once

#include <Python.h>

namespace kymo::python {

// arrow_stream(length, columns): a capsule "arrow_array_stream". A column is a tuple of its name, its format in Arrow's
// words, a buffer with its values, and None, or the strings to which the values are indices.
PyObject* arrow_stream(PyObject* module, PyObject* args) noexcept;

}  // namespace kymo::python
