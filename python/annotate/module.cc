// kymo._annotate: ranges, marks and sessions of Python programs, in C. kymo.nvtx is the interface for people.
#include "annotate/module.h"

#include <Python.h>

#include <initializer_list>

namespace kymo::python {
namespace {

int add_contents(PyObject* module) noexcept {
  for (const auto add : {add_ranges, add_cuda_ranges, add_scoped_range, add_event, add_functions, add_session})
    if (add(module) < 0) return -1;
  return 0;
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
