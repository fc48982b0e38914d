// The functions of kymo._device. kymo.mps and kymo.mps.profiler document them.
#include <optional>
#include <string>

#include "device/dlpack.h"
#include "device/dtypes.h"
#include "device/host_memory.h"
#include "device/types.h"
#include "kymo/profiler.h"
#include "support/arguments.h"

namespace kymo::python {
namespace {

using device::Tensor;

PyObject* none() { return Owned::share(Py_None).release(); }

template <class F>
PyObject* returning_none(F&& f) {
  return guarded([&] {
    without_gil(f);
    return none();
  });
}

template <auto Function>
PyObject* number(PyObject*, PyObject*) {
  return guarded([&] {
    return PyLong_FromUnsignedLongLong(static_cast<unsigned long long>(without_gil([] { return Function(); })));
  });
}

// ---- Devices -------------------------------------------------------------------------------------------------------

PyObject* device_name(PyObject*, PyObject* device) {
  return guarded([&] { return to_python(device_argument(device).name()); });
}
PyObject* device_description(PyObject*, PyObject* device) {
  return guarded([&] { return to_python(device_argument(device).description()); });
}
PyObject* set_device(PyObject*, PyObject* device) {
  return guarded([&] {
    const device::Device chosen = device_argument(device);
    without_gil([&] { device::set_device(chosen); });
    return none();
  });
}
PyObject* device_names(PyObject*, PyObject*) {
  return guarded([&] {
    const auto backends = without_gil([] { return device::list_devices(); });
    Owned list = checked(PyList_New(0));
    for (const device::BackendReport& backend : backends)
      for (const auto& device : backend.devices)
        check(PyList_Append(list.get(), checked(to_python(device.name)).get()));
    return list.release();
  });
}
PyObject* synchronize(PyObject*, PyObject*) {
  return returning_none([] { device::synchronize(); });
}
PyObject* empty_cache(PyObject*, PyObject*) {
  return returning_none([] { device::empty_cache(); });
}
PyObject* set_memory_fraction(PyObject*, PyObject* fraction) {
  return guarded([&]() -> PyObject* {
    const double value = PyFloat_AsDouble(fraction);
    if (value == -1 && PyErr_Occurred() != nullptr) return nullptr;
    without_gil([&] { device::set_per_process_memory_fraction(value); });
    return none();
  });
}
PyObject* memory_statistics(PyObject*, PyObject*) {
  return guarded([&] {
    const device::MemoryStatistics now = without_gil([] { return device::memory_statistics(); });
    using Number = unsigned long long;
    return Py_BuildValue("{s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K}", "current", static_cast<Number>(now.current), "peak",
                         static_cast<Number>(now.peak), "reserved", static_cast<Number>(now.reserved), "peak_reserved",
                         static_cast<Number>(now.peak_reserved), "cached", static_cast<Number>(now.cached),
                         "allocations", static_cast<Number>(now.allocations), "frees", static_cast<Number>(now.frees),
                         "limit", static_cast<Number>(now.limit), "synchronizes",
                         static_cast<Number>(now.synchronizes));
  });
}
PyObject* reset_peak_memory(PyObject*, PyObject*) {
  return returning_none([] { device::reset_peak_memory(); });
}

// ---- Random numbers ------------------------------------------------------------------------------------------------

PyObject* get_rng_state(PyObject*, PyObject* device) {
  return guarded([&] {
    const device::Device from = device_argument(device);
    const auto state = without_gil([&] { return device::get_rng_state(from); });
    return PyBytes_FromStringAndSize(reinterpret_cast<const char*>(state.data()),
                                     static_cast<Py_ssize_t>(state.size()));
  });
}
PyObject* set_rng_state(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    const char* data = nullptr;
    Py_ssize_t size = 0;
    PyObject* device = Py_None;
    if (PyArg_ParseTuple(args, "y#O", &data, &size, &device) == 0) return nullptr;
    const device::Device to = device_argument(device);
    const std::span bytes(reinterpret_cast<const std::byte*>(data), static_cast<size_t>(size));
    without_gil([&] { device::set_rng_state(bytes, to); });
    return none();
  });
}
PyObject* manual_seed(PyObject*, PyObject* seed) {
  return guarded([&]() -> PyObject* {
    uint64_t value = PyLong_AsUnsignedLongLong(seed);
    if (PyErr_Occurred() != nullptr) {
      PyErr_Clear();
      value = static_cast<uint64_t>(PyLong_AsLongLong(seed));
    }
    if (PyErr_Occurred() != nullptr) {
      if (PyErr_ExceptionMatches(PyExc_OverflowError) == 0) return nullptr;
      PyErr_Clear();
      throw InvalidArgument("this seed does not fit 64 bits: it must be from -2**63 to 2**64 - 1");
    }
    without_gil([&] { device::manual_seed(value); });
    return none();
  });
}
PyObject* seed(PyObject*, PyObject*) {
  return returning_none([] { device::seed(); });
}

PyObject* fill_random(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject* object = nullptr;
    const char* kind = nullptr;
    double a = 0, b = 0;
    if (PyArg_ParseTuple(args, "Osdd", &object, &kind, &a, &b) == 0) return nullptr;
    Tensor& tensor = tensor_argument(object, "the tensor to fill");
    const std::string_view what = kind;
    without_gil([&] {
      if (what == "uniform") device::uniform(tensor, a, b);
      if (what == "normal") device::normal(tensor, a, b);
      if (what == "bernoulli") device::bernoulli(tensor, a);
    });
    return none();
  });
}
PyObject* randint(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject* object = nullptr;
    long long low = 0, high = 0;
    if (PyArg_ParseTuple(args, "OLL", &object, &low, &high) == 0) return nullptr;
    Tensor& tensor = tensor_argument(object, "the tensor to fill");
    without_gil([&] { device::randint(tensor, low, high); });
    return none();
  });
}

// ---- Tensors -------------------------------------------------------------------------------------------------------

PyObject* empty(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *sizes = nullptr, *dtype = nullptr, *device = nullptr;
    if (PyArg_ParseTuple(args, "OOO", &sizes, &dtype, &device) == 0) return nullptr;
    const device::Shape shape = shape_argument(sizes);
    const device::DType type = dtype_argument(dtype);
    const device::Device where = device_argument(device);
    return to_python(without_gil([&] { return device::empty(shape, type, where); }));
  });
}
PyObject* tensor_from_buffer(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *object = nullptr, *device = nullptr, *copy = nullptr;
    if (PyArg_ParseTuple(args, "OOO", &object, &device, &copy) == 0) return nullptr;
    return to_python(from_buffer(object, device_argument(device), copy));
  });
}
PyObject* tensor_from_dlpack(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *object = nullptr, *device = nullptr, *copy = nullptr;
    if (PyArg_ParseTuple(args, "OOO", &object, &device, &copy) == 0) return nullptr;
    return to_python(from_dlpack(object, device, copy));
  });
}
// The bytes of an array of 16-bit numbers as bfloat16: NumPy has no such type.
PyObject* as_bfloat16(PyObject*, PyObject* object) {
  return guarded([&] {
    const Tensor& bits = tensor_argument(object, "as_bfloat16");
    if (bits.dtype() != device::DType::U16) throw InvalidArgument("as_bfloat16 takes a tensor of uint16");
    Tensor::Strides strides{};
    std::copy(bits.strides().begin(), bits.strides().end(), strides.begin());
    return to_python(Tensor(bits.storage(), device::DType::BF16, bits.shape(), strides, bits.offset()));
  });
}

// ---- Streams and shaders -------------------------------------------------------------------------------------------

PyObject* current_stream(PyObject*, PyObject* device) {
  return guarded([&] {
    const device::Device where = device_argument(device);
    return to_python(without_gil([&] { return device::current_stream(where); }));
  });
}
PyObject* default_stream(PyObject*, PyObject* device) {
  return guarded([&] {
    const device::Device where = device_argument(device);
    return to_python(without_gil([&] { return device::default_stream(where); }));
  });
}
PyObject* set_stream(PyObject*, PyObject* stream) {
  return guarded([&] {
    const device::Stream chosen = stream_argument(stream, "stream");
    without_gil([&] { device::set_stream(chosen); });
    return none();
  });
}
std::string text_of(PyObject* object, const char* what) {
  const Text text(object, what);
  if (!text.is_valid()) throw PythonErrorSet{};
  return std::string(text.view());
}

// kymo/mps/_shaders.py has checked and converted what the caller gave.
PyObject* compile_shader(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *source = nullptr, *constants = nullptr, *defines = nullptr, *headers = nullptr;
    device::CompileOptions options;
    int tensor_cores = 0;
    if (PyArg_ParseTuple(args, "OO!O!O!p", &source, &PyDict_Type, &constants, &PyList_Type, &defines, &PyDict_Type,
                         &headers, &tensor_cores) == 0)
      return nullptr;
    const Text text(source, "compile_shader: source");
    if (!text.is_valid()) return nullptr;
    PyObject *key = nullptr, *value = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(constants, &at, &key, &value) != 0;) {
      const double number = PyFloat_AsDouble(value);
      if (PyErr_Occurred() != nullptr) return nullptr;
      options.constants[text_of(key, "compile_shader: a function constant")] = number;
    }
    for (Py_ssize_t i = 0; i < PyList_Size(defines); ++i)
      options.options.push_back(text_of(PyList_GetItem(defines, i), "compile_shader: a macro"));
    for (Py_ssize_t at = 0; PyDict_Next(headers, &at, &key, &value) != 0;)
      options.headers[text_of(key, "compile_shader: a header")] = text_of(value, "compile_shader: a header");
    options.tensor_cores = tensor_cores != 0;
    return new_object<LibraryObject>(types.library,
                                     without_gil([&] { return device::compile_shader(text.view(), options); }));
  });
}
PyObject* load_metallib(PyObject*, PyObject* path) {
  return guarded([&]() -> PyObject* {
    const std::string name = path_argument(path);
    return new_object<LibraryObject>(types.library, without_gil([&] { return device::load_metallib(name); }));
  });
}
PyObject* library_warnings(PyObject*, PyObject* library) {
  return guarded([&]() -> PyObject* {
    if (PyObject_TypeCheck(library, types.library) == 0) {
      set_type_error("library", "a ShaderLibrary", library);
      return nullptr;
    }
    return to_python(reinterpret_cast<LibraryObject*>(library)->value.warnings());
  });
}

// ---- Profiler ------------------------------------------------------------------------------------------------------

PyObject* profiler_start(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject* mode = nullptr;
    int wait = 0;
    if (PyArg_ParseTuple(args, "Op", &mode, &wait) == 0) return nullptr;
    const Text text(mode, "start: mode");
    if (!text.is_valid()) return nullptr;
    without_gil([&] { profiler::start(text.view(), wait != 0); });
    return none();
  });
}
PyObject* profiler_stop(PyObject*, PyObject*) {
  return returning_none([] { profiler::stop(); });
}
PyObject* profiler_is_running(PyObject*, PyObject*) { return PyBool_FromLong(profiler::is_running()); }
PyObject* profiler_statistics(PyObject*, PyObject*) {
  return guarded([] { return to_python(without_gil([] { return profiler::statistics_text(); })); });
}
PyObject* profiler_reset(PyObject*, PyObject*) {
  return returning_none([] { profiler::reset_statistics(); });
}
PyObject* start_capture(PyObject*, PyObject* name) {
  return guarded([&]() -> PyObject* {
    const Text text(name, "metal_capture: fname");
    if (!text.is_valid()) return nullptr;
    without_gil([&] { profiler::start_capture(text.view()); });
    return none();
  });
}
PyObject* stop_capture(PyObject*, PyObject*) {
  return returning_none([] { profiler::stop_capture(); });
}
PyObject* capture_folder(PyObject*, PyObject*) {
  return guarded([] { return to_python(profiler::capture_folder()); });
}
PyObject* is_capturing(PyObject*, PyObject*) { return PyBool_FromLong(profiler::is_capturing()); }
PyObject* is_capture_enabled(PyObject*, PyObject*) { return PyBool_FromLong(profiler::is_capture_enabled()); }

// ---- Ranges on streams, for kymo.nvtx: both are times of the device ------------------------------------------------

// device_range_start(msg, stream): None is the current stream. Returns the handle, 0 if nothing records.
PyObject* range_start(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *message = nullptr, *stream = nullptr;
    if (PyArg_ParseTuple(args, "OO", &message, &stream) == 0) return nullptr;
    const Text text(message, "_device_range_start: msg");
    if (!text.is_valid()) return nullptr;
    const device::Stream on = stream_argument(stream, "_device_range_start: stream");
    return PyLong_FromUnsignedLongLong(
        static_cast<uint64_t>(without_gil([&] { return device_range_start(text.view(), on); })));
  });
}

// device_range_end(handle, stream)
PyObject* range_end(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *handle = nullptr, *stream = nullptr;
    if (PyArg_ParseTuple(args, "OO", &handle, &stream) == 0) return nullptr;
    const auto number = uint_argument(handle, "_device_range_end: range_handle");
    if (!number) return nullptr;
    const device::Stream on = stream_argument(stream, "_device_range_end: stream");
    without_gil([&] { device_range_end(DeviceRange{*number}, on); });
    Py_RETURN_NONE;
  });
}

PyMethodDef functions[] = {
    {"device_count", number<&device::device_count>, METH_NOARGS, nullptr},
    {"device_name", device_name, METH_O, nullptr},
    {"device_description", device_description, METH_O, nullptr},
    {"set_device", set_device, METH_O, nullptr},
    {"device_names", device_names, METH_NOARGS, nullptr},
    {"synchronize", synchronize, METH_NOARGS, nullptr},
    {"empty_cache", empty_cache, METH_NOARGS, nullptr},
    {"set_memory_fraction", set_memory_fraction, METH_O, nullptr},
    {"current_allocated_memory", number<&device::current_allocated_memory>, METH_NOARGS, nullptr},
    {"driver_allocated_memory", number<&device::driver_allocated_memory>, METH_NOARGS, nullptr},
    {"recommended_max_memory", number<&device::recommended_max_memory>, METH_NOARGS, nullptr},
    {"memory_statistics", memory_statistics, METH_NOARGS, nullptr},
    {"reset_peak_memory", reset_peak_memory, METH_NOARGS, nullptr},
    {"get_rng_state", get_rng_state, METH_O, nullptr},
    {"set_rng_state", set_rng_state, METH_VARARGS, nullptr},
    {"manual_seed", manual_seed, METH_O, nullptr},
    {"seed", seed, METH_NOARGS, nullptr},
    {"fill_random", fill_random, METH_VARARGS, nullptr},
    {"randint", randint, METH_VARARGS, nullptr},
    {"empty", empty, METH_VARARGS, nullptr},
    {"from_buffer", tensor_from_buffer, METH_VARARGS, nullptr},
    {"from_dlpack", tensor_from_dlpack, METH_VARARGS, nullptr},
    {"as_bfloat16", as_bfloat16, METH_O, nullptr},
    {"current_stream", current_stream, METH_O, nullptr},
    {"default_stream", default_stream, METH_O, nullptr},
    {"set_stream", set_stream, METH_O, nullptr},
    {"compile_shader", compile_shader, METH_VARARGS, nullptr},
    {"library_warnings", library_warnings, METH_O, nullptr},
    {"load_metallib", load_metallib, METH_O, nullptr},
    {"profiler_start", profiler_start, METH_VARARGS, nullptr},
    {"profiler_stop", profiler_stop, METH_NOARGS, nullptr},
    {"profiler_is_running", profiler_is_running, METH_NOARGS, nullptr},
    {"profiler_statistics", profiler_statistics, METH_NOARGS, nullptr},
    {"profiler_reset", profiler_reset, METH_NOARGS, nullptr},
    {"start_capture", start_capture, METH_O, nullptr},
    {"stop_capture", stop_capture, METH_NOARGS, nullptr},
    {"capture_folder", capture_folder, METH_NOARGS, nullptr},
    {"is_capturing", is_capturing, METH_NOARGS, nullptr},
    {"is_capture_enabled", is_capture_enabled, METH_NOARGS, nullptr},
    {"device_range_start", range_start, METH_VARARGS, nullptr},
    {"device_range_end", range_end, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyMethodDef* device_functions() { return functions; }

}  // namespace kymo::python
