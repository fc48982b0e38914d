// kymo._annotate: what it keeps for one interpreter, and its parts. Each add_ function adds the types and functions of
// one file to the module; -1: an exception is set.
#pragma once

#include <Python.h>

namespace kymo::python {

struct ModuleState {
  PyTypeObject* range_type;    // scoped_range.cc
  PyTypeObject* event_type;    // event.cc
  PyTypeObject* session_type;  // session.cc
};

inline ModuleState& state_of(PyObject* module) noexcept {
  return *static_cast<ModuleState*>(PyModule_GetState(module));
}

int add_ranges(PyObject* module) noexcept;
int add_cuda_ranges(PyObject* module) noexcept;
int add_scoped_range(PyObject* module) noexcept;
int add_event(PyObject* module) noexcept;
int add_functions(PyObject* module) noexcept;
int add_session(PyObject* module) noexcept;

}  // namespace kymo::python
