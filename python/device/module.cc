// kymo._device: devices, tensors and kernels, in C. kymo.mps is the interface for people.
#include <Python.h>

#include "device/types.h"
#include "kymo/device.h"

namespace kymo::python {
namespace {

// The types live as long as the process, and belong to the interpreter that imported the module first.
int64_t owner = -1;

int add_type(PyObject* module, PyType_Spec& spec, PyTypeObject*& type) {
  if (type == nullptr) type = reinterpret_cast<PyTypeObject*>(PyType_FromModuleAndSpec(module, &spec, nullptr));
  return type == nullptr ? -1 : PyModule_AddType(module, type);
}

int add_contents(PyObject* module) noexcept {
  const int64_t interpreter = PyInterpreterState_GetID(PyInterpreterState_Get());
  if (owner != -1 && owner != interpreter) {
    PyErr_SetString(PyExc_ImportError,
                    "kymo.mps can be used in one interpreter of a process only, and another one uses it: drivers "
                    "belong to the process. Use it in the main interpreter.");
    return -1;
  }
  // Before the exit handlers of drivers, which destroy what their threads use.
  if (owner == -1 && Py_AtExit(&device::synchronize_all) < 0) {
    PyErr_SetString(PyExc_ImportError, "kymo.mps: Python has no place for another exit handler");
    return -1;
  }
  owner = interpreter;
  if (add_type(module, tensor_spec, types.tensor) < 0 || add_type(module, stream_spec, types.stream) < 0 ||
      add_type(module, event_spec, types.event) < 0 || add_type(module, library_spec, types.library) < 0 ||
      add_type(module, kernel_spec, types.kernel) < 0)
    return -1;
  if (PyModule_AddFunctions(module, device_range_functions()) < 0) return -1;
  return PyModule_AddFunctions(module, device_functions());
}

PyModuleDef_Slot slots[] = {
    {Py_mod_exec, reinterpret_cast<void*>(&add_contents)},
    {0, nullptr},
};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_device", "Devices in C. Use kymo.mps.", 0, nullptr, slots, nullptr, nullptr, nullptr,
};

}  // namespace
}  // namespace kymo::python

PyMODINIT_FUNC PyInit__device(void) { return PyModuleDef_Init(&kymo::python::definition); }
