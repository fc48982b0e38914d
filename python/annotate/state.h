// What kymo._annotate keeps for one interpreter.
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

}  // namespace kymo::python
