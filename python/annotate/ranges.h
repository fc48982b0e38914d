// range_push, range_pop and their like. While nothing records, each costs little more than the call of an empty C
// function.
#pragma once

#include <Python.h>

namespace kymo::python {

int add_ranges(PyObject* module) noexcept;

}  // namespace kymo::python
