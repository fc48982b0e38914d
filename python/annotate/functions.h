// Every Python function as a range: the hooks of the interpreter.
//
// From Python 3.12 on, Python code registers the module's objects on_start, on_end, … with sys.monitoring. Before, the
// interpreter calls one C function for each call and return (PyEval_SetProfile). That function is not in the limited
// API, so it is looked up at run time.
//
// The ranges have a stack of their own: annotations that a function pushes and another one pops do not disturb them.
#pragma once

#include <Python.h>

namespace kymo::python {

// Adds the functions to the module: see kymo/functions.py, which is the only caller.
int add_functions(PyObject* module) noexcept;

}  // namespace kymo::python
