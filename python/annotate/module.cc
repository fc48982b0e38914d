// kymo._annotate: ranges and marks of Python programs, in C. kymo.nvtx is the interface for people.
#include <Python.h>

#include "annotate/ranges.h"

namespace kymo::python {
namespace {

int add_contents(PyObject* module) noexcept { return PyModule_AddFunctions(module, range_functions()); }

PyModuleDef_Slot slots[] = {
    {Py_mod_exec, reinterpret_cast<void*>(&add_contents)},
    {0, nullptr},
};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    "_annotate",
    "Annotations in C. Use kymo.nvtx.",
    0,
    nullptr,
    slots,
    nullptr,
    nullptr,
    nullptr,
};

}  // namespace
}  // namespace kymo::python

PyMODINIT_FUNC PyInit__annotate(void) { return PyModuleDef_Init(&kymo::python::definition); }
