// kymo.Session: a recording of this process, and kymo.dump.
#pragma once

#include <Python.h>

namespace kymo::python {

int add_session(PyObject* module) noexcept;

}  // namespace kymo::python
