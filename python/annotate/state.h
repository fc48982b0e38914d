// What kymo._annotate keeps for one interpreter.
#pragma once

#include <Python.h>

namespace kymo::python {

struct ScopedRange;

struct ModuleState {
  PyTypeObject* range_type;    // scoped_range.cc
  PyTypeObject* event_type;    // event.cc
  PyTypeObject* session_type;  // session.cc
  // Ranges that were used and are free: most programs need only as many as their ranges nest.
  ScopedRange* free_ranges;
  uint32_t free_range_count;
};

inline ModuleState& state_of(PyObject* module) noexcept {
  return *static_cast<ModuleState*>(PyModule_GetState(module));
}

}  // namespace kymo::python
