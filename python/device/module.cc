// kymo._device: devices, tensors and kernels, in C. kymo.mps is the interface for people.
#include <Python.h>

#include <string>
#include <vector>

#include "device/types.h"
#include "kymo/device.h"
#include "support/arguments.h"

namespace kymo::python {

// ---- Arguments that all functions of the module take ---------------------------------------------------------------

Types types;

device::Tensor& tensor_argument(PyObject* object, const char* what) {
  if (is_tensor(object)) return tensor_of(object);
  set_type_error(what, "Tensor", object);
  throw PythonErrorSet{};
}

device::Stream stream_argument(PyObject* object, const char* what) {
  if (object == Py_None) return without_gil([] { return device::current_stream(); });
  if (PyObject_TypeCheck(object, types.stream)) return reinterpret_cast<StreamObject*>(object)->value;
  // PyTorch: "stream must be a torch.mps.Stream", a RuntimeError.
  set_error("InvalidType",
            (std::string(what) + " must be a Stream of kymo.mps or None, not " + type_name(object)).c_str());
  throw PythonErrorSet{};
}

// As for PyTorch, 0 is the first device of the kind, and a torch.device goes by its name.
device::Device device_argument(PyObject* object) {
  const auto current = [] { return without_gil([] { return device::Device::current(); }); };
  if (object == Py_None) return current();
  if (PyLong_Check(object) && !PyBool_Check(object)) {
    const auto index = int_argument(object, "device");
    if (!index) throw PythonErrorSet{};
    if (*index == 0) return current();
    throw InvalidArgument("there is no device " + std::to_string(*index) +
                          ": use 0, or a name that kymo devices lists");
  }
  Owned text;
  if (type_name(object) == "device") text = checked(PyObject_Str(object));
  const Text name(text ? text.get() : object, "device");
  if (!name.is_valid()) throw PythonErrorSet{};
  if (name.view() == "mps" || name.view() == "mps:0") return current();
  return without_gil([&] { return device::Device(name.view()); });
}

device::Shape shape_argument(PyObject* object) {
  std::vector<int64_t> sizes;
  const auto add = [&](PyObject* size) {
    const auto number = int_argument(size, "a size of a shape");
    if (!number) throw PythonErrorSet{};
    sizes.push_back(*number);
  };
  if (PyIndex_Check(object) != 0 && !PyTuple_Check(object) && !PyList_Check(object)) {
    add(object);
  } else {
    if (PySequence_Check(object) == 0) {
      set_type_error("a shape", "an int, or a tuple or list of them", object);
      throw PythonErrorSet{};
    }
    const Owned list = checked(PySequence_Tuple(object));
    for (Py_ssize_t i = 0; i < PyTuple_Size(list.get()); ++i) add(PyTuple_GetItem(list.get(), i));
  }
  return device::Shape(std::span<const int64_t>(sizes));
}

// ---- The module ----------------------------------------------------------------------------------------------------

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
