#include "annotate/callback.h"

#include <structmember.h>

#include <cstddef>

#include "support/owned.h"

namespace kymo::python {
namespace {

// Py_TPFLAGS_HAVE_VECTORCALL, which the limited API names only from 3.12 on. The bit is older.
constexpr unsigned int kHasVectorcall = 1u << 11;

struct Callback {
  PyObject_HEAD DirectCall function;
};

void deallocate(PyObject* self) noexcept {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}

// For callers that do not know the protocol.
PyObject* call(PyObject* self, PyObject* args, PyObject*) noexcept {
  constexpr Py_ssize_t kMost = 8;
  PyObject* values[kMost];
  const Py_ssize_t count = PyTuple_Size(args);
  if (count > kMost) {
    PyErr_Format(PyExc_TypeError, "a callback takes at most %zd arguments, but %zd were given", kMost, count);
    return nullptr;
  }
  for (Py_ssize_t i = 0; i < count; ++i) values[i] = PyTuple_GetItem(args, i);
  return reinterpret_cast<Callback*>(self)->function(self, values, static_cast<size_t>(count), nullptr);
}

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Callback, function), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};
PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(&deallocate)},
    {Py_tp_call, reinterpret_cast<void*>(&call)},
    {Py_tp_members, members},
    {Py_tp_doc, const_cast<char*>("A function for hooks of the interpreter.")},
    {0, nullptr},
};
PyType_Spec specification = {
    "kymo._annotate.Callback", sizeof(Callback), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE | kHasVectorcall, slots};

}  // namespace

int add_callbacks(PyObject* module, const NamedCallback* first, size_t count) noexcept {
  const Owned type(PyType_FromSpec(&specification));
  if (!type) return -1;
  for (size_t i = 0; i < count; ++i) {
    auto* made = PyObject_New(Callback, reinterpret_cast<PyTypeObject*>(type.get()));
    const Owned object(reinterpret_cast<PyObject*>(made));
    if (!object) return -1;
    made->function = first[i].function;
    if (PyModule_AddObjectRef(module, first[i].name, object.get()) < 0) return -1;
  }
  return 0;
}

}  // namespace kymo::python
