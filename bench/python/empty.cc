// A Python module that does nothing, as fast as a module can: the floor of kymo's functions (annotations.py).
#include <Python.h>
#include <time.h>

#include "floor.h"

namespace {

PyObject* none() noexcept {
  Py_INCREF(Py_None);
  return Py_None;
}

PyObject* one(PyObject*, PyObject*) noexcept { return none(); }
PyObject* nothing(PyObject*, PyObject*) noexcept { return none(); }
PyObject* leave(PyObject*, PyObject* const*, Py_ssize_t) noexcept { return none(); }
PyObject* enter(PyObject* self, PyObject*) noexcept {
  Py_INCREF(self);
  return self;
}

PyObject* create(PyTypeObject* type, PyObject*, PyObject*) noexcept {
  return reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc))(type, 0);
}
void deallocate(PyObject* self) noexcept {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}

// floor(n): the floor of a range in C, in nanoseconds.
PyObject* floor_ns(PyObject*, PyObject* number) noexcept {
  const long count = PyLong_AsLong(number);
  if (count <= 0) return nullptr;
  bench::FloorBuffer buffer;
  bench::this_buffer = &buffer;
  const auto now = [] {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
  };
  double best = 1e9;
  for (int round = 0; round < 20; ++round) {
    const double before = now();
    for (long i = 0; i < count / 20; ++i) bench::floor_range();
    const double each = (now() - before) / static_cast<double>(count / 20);
    if (each < best) best = each;
  }
  bench::this_buffer = nullptr;
  return PyFloat_FromDouble(best);
}

PyMethodDef methods[] = {
    {"__enter__", enter, METH_NOARGS, nullptr},
    {"__exit__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(leave)), METH_FASTCALL, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(&create)},
    {Py_tp_dealloc, reinterpret_cast<void*>(&deallocate)},
    {Py_tp_methods, methods},
    {0, nullptr},
};
struct Empty {
  PyObject_HEAD
};
PyType_Spec specification = {"empty.Empty", sizeof(Empty), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, slots};

int add_contents(PyObject* module) noexcept {
  PyObject* type = PyType_FromSpec(&specification);
  return type != nullptr ? PyModule_AddObject(module, "Empty", type) : -1;
}

PyMethodDef functions[] = {
    {"one", one, METH_O, nullptr},
    {"nothing", nothing, METH_NOARGS, nullptr},
    {"floor", floor_ns, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyModuleDef_Slot module_slots[] = {{Py_mod_exec, reinterpret_cast<void*>(&add_contents)}, {0, nullptr}};
PyModuleDef definition = {PyModuleDef_HEAD_INIT, "kymo_empty", nullptr, 0,      functions,
                          module_slots,          nullptr,      nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_kymo_empty(void) { return PyModuleDef_Init(&definition); }
