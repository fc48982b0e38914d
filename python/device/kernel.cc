// Libraries and kernels: the types of what compile_shader returns.
#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "device/kernel_arguments.h"
#include "device/types.h"
#include "support/arguments.h"

namespace kymo::python {
namespace {

device::ShaderLibrary& library_of(PyObject* self) { return reinterpret_cast<LibraryObject*>(self)->value; }
device::Kernel& kernel_of(PyObject* self) { return reinterpret_cast<KernelObject*>(self)->value; }

// ---- Library -------------------------------------------------------------------------------------------------------

bool has_kernel(const device::ShaderLibrary& library, const std::string& name) {
  const auto names = library.kernel_names();
  return std::ranges::find(names, name) != names.end();
}

PyObject* kernel_named(PyObject* self, const std::string& name) {
  const device::ShaderLibrary& library = library_of(self);
  if (has_kernel(library, name))  // it may be compiled only now
    return new_object<KernelObject>(types.kernel, without_gil([&] { return library[name]; }));
  try {
    library[name];
  } catch (const Error& error) {
    set_error("UnknownKernel", error.what());
  }
  return nullptr;
}

// Names of Python's own protocols are AttributeErrors. Every other unknown name is an UnknownKernel with the list of
// names, which is both a RuntimeError, as in PyTorch, and an AttributeError.
PyObject* library_getattr(PyObject* self, PyObject* name) {
  return guarded([&]() -> PyObject* {
    const Text text(name, "the name of a kernel");
    if (!text.is_valid()) return nullptr;
    const std::string wanted(text.view());
    if (wanted.starts_with("_") && !has_kernel(library_of(self), wanted)) return PyObject_GenericGetAttr(self, name);
    return kernel_named(self, wanted);
  });
}

PyObject* library_subscript(PyObject* self, PyObject* name) {
  return guarded([&]() -> PyObject* {
    const Text text(name, "the name of a kernel");
    return text.is_valid() ? kernel_named(self, std::string(text.view())) : nullptr;
  });
}

PyObject* library_dir(PyObject* self, PyObject*) {
  return guarded([&] {
    Owned list = checked(PyList_New(0));
    for (const std::string& name : library_of(self).kernel_names()) {
      const Owned text = checked(to_python(name));
      check(PyList_Append(list.get(), text.get()));
    }
    return list.release();
  });
}

PyObject* library_repr(PyObject* self) {
  return guarded([&] {
    std::string text = "<kymo.mps.ShaderLibrary on " + library_of(self).device().name() + ":";
    for (const std::string& name : library_of(self).kernel_names()) text += " " + name;
    return to_python(text + ">");
  });
}

// ---- Kernel --------------------------------------------------------------------------------------------------------

struct Sizes {
  std::array<uint64_t, 3> values{1, 1, 1};
  Py_ssize_t dimensions = 0;  // 0: not given
};

Sizes sizes_argument(PyObject* object, const char* what) {
  Sizes sizes;
  if (object == nullptr || object == Py_None) return sizes;
  const auto add = [&](PyObject* number) {
    const auto value = int_argument(number, what);
    if (!value) throw PythonErrorSet{};
    if (*value < 0) throw InvalidArgument(std::string(what) + " " + std::to_string(*value) + " is negative");
    sizes.values[static_cast<size_t>(sizes.dimensions++)] = static_cast<uint64_t>(*value);
  };
  if (!PyList_Check(object) && !PyTuple_Check(object)) {
    add(object);
    return sizes;
  }
  const Owned items = checked(PySequence_Tuple(object));
  const Py_ssize_t count = PyTuple_Size(items.get());
  if (count < 1 || count > 3)
    throw InvalidArgument(std::string(what) + " has " + std::to_string(count) + " dimensions: it must have 1 to 3");
  for (Py_ssize_t i = 0; i < count; ++i) add(PyTuple_GetItem(items.get(), i));
  return sizes;
}

device::Kernel with_sizes(device::Kernel kernel, const Sizes& threads, const Sizes& group) {
  const auto& t = threads.values;
  const auto& g = group.values;
  if (threads.dimensions == 1) kernel = kernel.threads(t[0]);
  if (threads.dimensions == 2) kernel = kernel.threads(t[0], t[1]);
  if (threads.dimensions == 3) kernel = kernel.threads(t[0], t[1], t[2]);
  if (group.dimensions == 1) kernel = kernel.group(g[0]);
  if (group.dimensions == 2) kernel = kernel.group(g[0], g[1]);
  if (group.dimensions == 3) kernel = kernel.group(g[0], g[1], g[2]);
  return kernel;
}

PyObject* kernel_call(PyObject* self, PyObject* args, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    PyObject *threads = nullptr, *group = nullptr, *casts = nullptr, *error_index = nullptr;
    if (keywords != nullptr) {
      static const char* names[] = {"threads", "group_size", "arg_casts", "error_buf_idx", nullptr};
      const Owned none = checked(PyTuple_New(0));
      if (PyArg_ParseTupleAndKeywords(none.get(), keywords, "|OOOO", const_cast<char**>(names), &threads, &group,
                                      &casts, &error_index) == 0)
        return nullptr;
    }
    // The runtime passes the error buffer itself, wherever the kernel declares it.
    if (error_index != nullptr && error_index != Py_None && !int_argument(error_index, "error_buf_idx")) return nullptr;
    const Sizes thread_sizes = sizes_argument(threads, "threads"), group_sizes = sizes_argument(group, "group_size");
    const device::Kernel kernel = with_sizes(kernel_of(self), thread_sizes, group_sizes);
    const device::Stream stream = device::current_stream(kernel.device());
    const KernelArguments arguments(kernel, args, casts, stream);
    without_gil([&] { kernel.launch(arguments.list()); });
    arguments.order_others();
    Py_RETURN_NONE;
  });
}

PyObject* kernel_repr(PyObject* self) {
  return guarded([&] { return to_python("<kymo.mps.Kernel " + kernel_of(self).name() + ">"); });
}

template <auto Member>
PyObject* kernel_number(PyObject* self, void*) {
  return guarded([&] { return PyLong_FromUnsignedLongLong((kernel_of(self).*Member)()); });
}

PyObject* kernel_name(PyObject* self, void*) {
  return guarded([&] { return to_python(kernel_of(self).name()); });
}

PyMethodDef library_methods[] = {
    {"__dir__", library_dir, METH_NOARGS, "The names of the kernels."},
    {nullptr, nullptr, 0, nullptr},
};
PyType_Slot library_slots[] = {
    {Py_tp_doc,
     const_cast<char*>("Kernels compiled from one source: lib.name, or lib[name], is a kernel, dir(lib) lists them.")},
    {Py_tp_dealloc, reinterpret_cast<void*>(&delete_object<LibraryObject>)},
    {Py_tp_getattro, reinterpret_cast<void*>(&library_getattr)},
    {Py_mp_subscript, reinterpret_cast<void*>(&library_subscript)},
    {Py_tp_repr, reinterpret_cast<void*>(&library_repr)},
    {Py_tp_methods, library_methods},
    {0, nullptr},
};

PyGetSetDef kernel_attributes[] = {
    {"name", kernel_name, nullptr, "Its name in the source.", nullptr},
    {"max_threads_per_threadgroup", kernel_number<&device::Kernel::max_threads_per_threadgroup>, nullptr,
     "The max number of threads in a group.", nullptr},
    {"thread_execution_width", kernel_number<&device::Kernel::thread_execution_width>, nullptr,
     "The number of threads that run in lockstep.", nullptr},
    {"static_thread_group_memory_length", kernel_number<&device::Kernel::static_thread_group_memory_length>, nullptr,
     "Bytes of group memory that the source declares.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyType_Slot kernel_slots[] = {
    {Py_tp_doc,
     const_cast<char*>("kernel(*args, threads=None, group_size=None, arg_casts=None, error_buf_idx=None): queues it.")},
    {Py_tp_dealloc, reinterpret_cast<void*>(&delete_object<KernelObject>)},
    {Py_tp_call, reinterpret_cast<void*>(&kernel_call)},
    {Py_tp_repr, reinterpret_cast<void*>(&kernel_repr)},
    {Py_tp_getset, kernel_attributes},
    {0, nullptr},
};

constexpr unsigned kFlags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE;

}  // namespace

PyType_Spec library_spec = {"kymo.mps.ShaderLibrary", sizeof(LibraryObject), 0, kFlags, library_slots};
PyType_Spec kernel_spec = {"kymo.mps.Kernel", sizeof(KernelObject), 0, kFlags, kernel_slots};

}  // namespace kymo::python
