// Ranges on streams, for kymo.nvtx: both are times of the device.
#include "device/types.h"
#include "support/arguments.h"

namespace kymo::python {
namespace {

// device_range_start(msg, stream): None is the current stream. Returns the handle, 0 if nothing records.
PyObject* start(PyObject*, PyObject* args) {
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
PyObject* end(PyObject*, PyObject* args) {
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
    {"device_range_start", start, METH_VARARGS, nullptr},
    {"device_range_end", end, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyMethodDef* device_range_functions() { return functions; }

}  // namespace kymo::python
