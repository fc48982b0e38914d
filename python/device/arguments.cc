// Arguments that all functions of the module take.
#include "support/arguments.h"

#include <string>
#include <vector>

#include "device/types.h"

namespace kymo::python {

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

device::Device device_argument(PyObject* object) {
  if (object == Py_None) return without_gil([] { return device::Device::current(); });
  const Text name(object, "device");
  if (!name.is_valid()) throw PythonErrorSet{};
  if (name.view() == "mps" || name.view() == "mps:0") return without_gil([] { return device::Device::current(); });
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

}  // namespace kymo::python
