// Taking tensors of other libraries.
#include <memory>
#include <string>

#include "device/dlpack.h"
#include "device/dlpack_abi.h"
#include "device/dtypes.h"
#include "device/host_memory.h"
#include "support/arguments.h"

namespace kymo::python {
namespace {

using device::Shape;
using device::Tensor;

[[noreturn]] void buffer_error(const std::string& text) {
  PyErr_SetString(PyExc_BufferError, text.c_str());
  throw PythonErrorSet{};
}

// The contents of a capsule, which now belong to us: the owner calls the deleter.
struct Taken {
  dlpack::View view{};
  bool read_only = false;
  std::shared_ptr<void> owner;
};

template <class Structure>
std::shared_ptr<void> owner_of(Structure* structure) {
  return {structure, [](void* pointer) {
            auto* held = static_cast<Structure*>(pointer);
            if (held->deleter != nullptr) held->deleter(held);
          }};
}

Taken take(PyObject* capsule) {
  Taken taken;
  if (PyCapsule_IsValid(capsule, dlpack::kVersionedName) != 0) {
    auto* held = static_cast<dlpack::VersionedManaged*>(PyCapsule_GetPointer(capsule, dlpack::kVersionedName));
    if (held->version.major > dlpack::kVersion.major)
      buffer_error("DLPack " + std::to_string(held->version.major) + "." + std::to_string(held->version.minor) +
                   " is not supported: Kymo reads version 1");
    taken.view = held->view;
    taken.read_only = (held->flags & dlpack::kReadOnly) != 0;
    check(PyCapsule_SetName(capsule, dlpack::kUsedVersionedName));
    taken.owner = owner_of(held);
    return taken;
  }
  if (PyCapsule_IsValid(capsule, dlpack::kName) != 0) {
    auto* held = static_cast<dlpack::Managed*>(PyCapsule_GetPointer(capsule, dlpack::kName));
    taken.view = held->view;
    check(PyCapsule_SetName(capsule, dlpack::kUsedName));
    taken.owner = owner_of(held);
    return taken;
  }
  throw Error("this capsule is not a DLPack tensor, or was used already: a capsule can be taken only once");
}

Owned call_dlpack(PyObject* object, PyObject* keywords) {
  const Owned method = checked(PyObject_GetAttrString(object, "__dlpack__"));
  const Owned none = checked(PyTuple_New(0));
  return Owned(PyObject_Call(method.get(), none.get(), keywords));
}

// Libraries before DLPack 1.0 do not know max_version.
Owned capsule_of(PyObject* object, const device::Stream* stream) {
  const Owned keywords = checked(PyDict_New()), version = checked(Py_BuildValue("(ii)", 1, 0));
  if (stream != nullptr) {
    const Owned handle = checked(PyLong_FromUnsignedLongLong(stream->native_handle()));
    check(PyDict_SetItemString(keywords.get(), "stream", handle.get()));
  }
  check(PyDict_SetItemString(keywords.get(), "max_version", version.get()));
  Owned capsule = call_dlpack(object, keywords.get());
  if (!capsule && PyErr_ExceptionMatches(PyExc_TypeError)) {
    PyErr_Clear();
    check(PyDict_DelItemString(keywords.get(), "max_version"));
    capsule = call_dlpack(object, keywords.get());
  }
  if (!capsule) throw PythonErrorSet{};
  return capsule;
}

dlpack::Device device_of(PyObject* object) {
  const Owned place = checked(PyObject_CallMethod(object, "__dlpack_device__", nullptr));
  const Owned type = checked(PySequence_GetItem(place.get(), 0)), id = checked(PySequence_GetItem(place.get(), 1));
  const long type_number = PyLong_AsLong(checked(PyNumber_Index(type.get())).get());
  const long id_number = PyLong_AsLong(checked(PyNumber_Index(id.get())).get());
  if (PyErr_Occurred() != nullptr) throw PythonErrorSet{};
  return {static_cast<int32_t>(type_number), static_cast<int32_t>(id_number)};
}

bool is_host(const dlpack::Device& where) {
  return where.type == static_cast<int32_t>(DlpackDevice::Cpu) ||
         where.type == static_cast<int32_t>(DlpackDevice::CudaHost);
}

device::DType checked_dtype(const dlpack::DataType& type) {
  const auto found = dtype_of_dlpack(type.code, type.bits, type.lanes);
  if (found) return *found;
  PyErr_Format(
      PyExc_TypeError,
      "this tensor has elements of DLPack type %d with %d bits and %d lanes, which Kymo does not have; complex "
      "numbers can be viewed as pairs of floats",
      int{type.code}, int{type.bits}, int{type.lanes});
  throw PythonErrorSet{};
}

// The contents of the tensor or capsule. `stream` waits for the other library; null: the current one of the device.
Taken taken_from(PyObject* object, const device::Stream* stream) {
  if (PyCapsule_CheckExact(object)) return take(object);
  const dlpack::Device place = device_of(object);
  if (!is_cuda(place)) return take(capsule_of(object, nullptr).get());
  const auto current = without_gil([&] {
    return stream != nullptr ? *stream : device::current_stream(device::Device("cuda:" + std::to_string(place.id)));
  });
  return take(capsule_of(object, &current).get());
}

ForeignArray array_of(const dlpack::View& view) {
  if (view.ndim < 0 || view.ndim > device::kMaxDimensions)
    throw InvalidArgument("a DLPack tensor of " + std::to_string(view.ndim) +
                          " dimensions is not supported: the max is " + std::to_string(device::kMaxDimensions));
  ForeignArray array;
  array.data = static_cast<char*>(view.data) + view.byte_offset;
  array.dtype = checked_dtype(view.dtype);
  array.shape = Shape(std::span<const int64_t>(view.shape, static_cast<size_t>(view.ndim)));
  array.set_strides(view.strides);
  return array;
}

}  // namespace

bool is_cuda(const dlpack::Device& where) noexcept {
  return where.type == static_cast<int32_t>(DlpackDevice::Cuda) ||
         where.type == static_cast<int32_t>(DlpackDevice::CudaManaged);
}

Tensor borrow_view(const dlpack::View& view, const device::Device& device) {
  const ForeignArray array = array_of(view);
  return device::borrow_device_memory(reinterpret_cast<uint64_t>(array.data), array.dtype, array.shape,
                                      array.used_strides(), device);
}

BorrowedTensor borrow_dlpack(PyObject* object, const device::Stream& stream) {
  Taken taken = taken_from(object, &stream);
  if (!is_cuda(taken.view.device)) buffer_error("this tensor was on CUDA, and its DLPack capsule is not");
  return {borrow_view(taken.view, device::Device("cuda:" + std::to_string(taken.view.device.id))),
          std::move(taken.owner)};
}

Tensor from_dlpack(PyObject* object, PyObject* wanted_device, PyObject* copy) {
  Taken taken = taken_from(object, nullptr);
  const dlpack::View& view = taken.view;
  ForeignArray array = array_of(view);
  array.read_only = taken.read_only;
  array.owner = std::move(taken.owner);

  if (is_host(view.device)) return from_host_array(std::move(array), device_argument(wanted_device), copy);
  if (!is_cuda(view.device))
    buffer_error("tensors of DLPack device type " + std::to_string(view.device.type) +
                 " are not supported: copy the data to the CPU or to CUDA");
  const Tensor tensor = without_gil([&] {
    return device::from_device_memory(reinterpret_cast<uint64_t>(array.data), array.dtype, array.shape,
                                      array.used_strides(), device::Device("cuda:" + std::to_string(view.device.id)),
                                      array.owner);
  });
  const bool moves = wanted_device != Py_None && device_argument(wanted_device) != tensor.device();
  if (moves && copy == Py_False)
    buffer_error("a tensor on " + tensor.device().name() +
                 " cannot be used on another device without a copy: copy=True");
  if (moves) return without_gil([&] { return tensor.to(device_argument(wanted_device)); });
  if (copy == Py_True) return without_gil([&] { return tensor.clone(); });
  return tensor;
}

}  // namespace kymo::python
