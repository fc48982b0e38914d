// kymo._annotate: ranges, marks and sessions of Python programs, in C. kymo.nvtx is the interface for people.
#include <Python.h>

#include "annotate/cuda_range.h"
#include "annotate/event.h"
#include "annotate/functions.h"
#include "annotate/ranges.h"
#include "annotate/scoped_range.h"
#include "annotate/session.h"
#include "annotate/state.h"
#include "annotate/steps.h"

namespace kymo::python {
namespace {

int add_contents(PyObject* module) noexcept {
  if (add_ranges(module) < 0 || PyModule_AddFunctions(module, cuda_range_functions()) < 0 ||
      PyModule_AddFunctions(module, step_functions()) < 0 || add_scoped_range(module) < 0 || add_event(module) < 0 ||
      add_functions(module) < 0)
    return -1;
  return add_session(module);
}

int traverse(PyObject* module, visitproc visit, void* arg) noexcept {
  ModuleState& state = state_of(module);
  Py_VISIT(state.range_type);
  Py_VISIT(state.event_type);
  Py_VISIT(state.session_type);
  return 0;
}

int clear(PyObject* module) noexcept {
  ModuleState& state = state_of(module);
  Py_CLEAR(state.range_type);
  Py_CLEAR(state.event_type);
  Py_CLEAR(state.session_type);
  return 0;
}

void release(void* module) noexcept { clear(static_cast<PyObject*>(module)); }

// Everything is in the state of the module, so each interpreter of the process has its own.
PyModuleDef_Slot slots[] = {
    {Py_mod_exec, reinterpret_cast<void*>(&add_contents)},
    {0, nullptr},
};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    "_annotate",
    "Annotations in C. Use kymo.nvtx.",
    sizeof(ModuleState),
    nullptr,
    slots,
    traverse,
    clear,
    release,
};

}  // namespace
}  // namespace kymo::python

PyMODINIT_FUNC PyInit__annotate(void) { return PyModuleDef_Init(&kymo::python::definition); }
