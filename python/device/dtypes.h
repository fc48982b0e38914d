// Element types, as Kymo, the buffer protocol and DLPack name them.
#pragma once

#include <Python.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "kymo/dtype.h"

namespace kymo::python {

struct DTypeNames {
  device::DType type;
  const char* name;    // "float32", as in NumPy and PyTorch
  const char* format;  // of the buffer protocol; null: it has none
  uint8_t code;        // of DLPack; its number of bits follows from the size
};

const DTypeNames& names_of(device::DType type);

// From a str such as "float32". Throws PythonErrorSet with a TypeError that lists the names.
device::DType dtype_argument(PyObject* object);
std::optional<device::DType> dtype_of_format(std::string_view format, Py_ssize_t size);
std::optional<device::DType> dtype_of_dlpack(uint8_t code, uint8_t bits, uint16_t lanes);

}  // namespace kymo::python
