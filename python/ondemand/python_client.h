// A client of kymo/ondemand.h that is a Python object: the methods that it has are called.
#pragma once

#include <Python.h>

namespace kymo::python {

// Any thread may call the methods of the object: the agent's, or the one that starts a trace in code. Both functions
// take the object, hold the GIL, and free it while they wait.
PyObject* add_client(PyObject* module, PyObject* client) noexcept;
PyObject* remove_client(PyObject* module, PyObject* client) noexcept;

}  // namespace kymo::python
