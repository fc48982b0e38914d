// The types of kymo._device, and the values of C++ inside their objects.
//
// A process has one set of types, for one interpreter: drivers and their threads belong to the process, so another
// interpreter that imports the module gets an ImportError. All functions need the GIL, unless they say otherwise.
#pragma once

#include <Python.h>

#include <new>
#include <utility>

#include "kymo/device.h"
#include "support/errors.h"
#include "support/owned.h"

namespace kymo::python {

struct TensorObject {
  PyObject_HEAD device::Tensor value;
};
struct StreamObject {
  PyObject_HEAD device::Stream value;
};
struct EventObject {
  PyObject_HEAD device::Event value;
};
struct LibraryObject {
  PyObject_HEAD device::ShaderLibrary value;
};
struct KernelObject {
  PyObject_HEAD device::Kernel value;
};

struct Types {
  PyTypeObject* tensor = nullptr;
  PyTypeObject* stream = nullptr;
  PyTypeObject* event = nullptr;
  PyTypeObject* library = nullptr;
  PyTypeObject* kernel = nullptr;
};
extern Types types;

extern PyType_Spec tensor_spec, stream_spec, event_spec, library_spec, kernel_spec;
PyMethodDef* device_functions();

// Calls `f` without the GIL. Everything that may wait for a device, its driver or its compiler goes through this. So no
// thread waits for the GIL while it holds a lock of the runtime.
template <class F>
decltype(auto) without_gil(F&& f) {
  const WithoutGil free;
  return std::forward<F>(f)();
}

template <class Object, class Value>
PyObject* new_object(PyTypeObject* type, Value&& value) {
  const auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
  Owned object = checked(allocate(type, 0));
  new (&reinterpret_cast<Object*>(object.get())->value) decltype(Object::value)(std::forward<Value>(value));
  return object.release();
}

// Destroys the value without the GIL: the end of a tensor may wait for work that uses it.
template <class Object>
void delete_object(PyObject* self) noexcept {
  PyTypeObject* type = Py_TYPE(self);
  using Value = decltype(Object::value);
  {
    const WithoutGil free;
    reinterpret_cast<Object*>(self)->value.~Value();
  }
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

inline bool is_tensor(PyObject* object) noexcept { return PyObject_TypeCheck(object, types.tensor); }
inline device::Tensor& tensor_of(PyObject* object) { return reinterpret_cast<TensorObject*>(object)->value; }
inline PyObject* to_python(device::Tensor tensor) { return new_object<TensorObject>(types.tensor, std::move(tensor)); }
inline PyObject* to_python(device::Stream stream) { return new_object<StreamObject>(types.stream, stream); }
inline PyObject* to_python(std::string_view text) {
  return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace");
}

// The tensor, or a TypeError "WHAT must be Tensor, not TYPE".
device::Tensor& tensor_argument(PyObject* object, const char* what);
// A stream; None is the current stream of the device.
device::Stream stream_argument(PyObject* object, const char* what);
// A device by its name; None, "mps" and "mps:0" are the current device.
device::Device device_argument(PyObject* object);
// An int or a sequence of ints.
device::Shape shape_argument(PyObject* object);

}  // namespace kymo::python
