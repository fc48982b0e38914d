// Column: an array of numbers for NumPy, which takes it over without a copy by the buffer protocol.
#pragma once

#include <Python.h>

#include <cstdint>
#include <vector>

namespace kymo::python {

PyObject* make_column(PyTypeObject* type, std::vector<int64_t> values);
PyObject* make_column(PyTypeObject* type, std::vector<int32_t> values);
PyObject* make_column(PyTypeObject* type, std::vector<uint16_t> values);
PyObject* make_column(PyTypeObject* type, std::vector<uint8_t> values);  // booleans

extern PyType_Spec column_spec;

}  // namespace kymo::python
