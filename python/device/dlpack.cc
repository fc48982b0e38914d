// Giving tensors away. dlpack_import.cc takes them.
#include "device/dlpack.h"

#include <array>
#include <charconv>
#include <memory>
#include <optional>
#include <string>

#include "device/dlpack_abi.h"
#include "device/dtypes.h"
#include "device/host_memory.h"
#include "support/arguments.h"

namespace kymo::python {
namespace {

using device::Tensor;

[[noreturn]] void buffer_error(const std::string& text) {
  PyErr_SetString(PyExc_BufferError, text.c_str());
  throw PythonErrorSet{};
}

// What a capsule holds: the structure that others see, and what it refers to.
template <class Structure>
struct Export {
  Structure structure{};
  Tensor tensor;
  std::vector<std::byte> copy;  // instead of the tensor's memory
  std::array<int64_t, device::kMaxDimensions> shape{}, strides{};
};

template <class Structure>
void delete_export(Structure* structure) {
  delete static_cast<Export<Structure>*>(structure->context);
}

template <class Structure>
const char* capsule_name() {
  return std::is_same_v<Structure, dlpack::Managed> ? dlpack::kName : dlpack::kVersionedName;
}

// A capsule that nobody took: its name is still the first one.
template <class Structure>
void delete_capsule(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, capsule_name<Structure>()) == 0) return;
  auto* structure = static_cast<Structure*>(PyCapsule_GetPointer(capsule, capsule_name<Structure>()));
  structure->deleter(structure);
}

struct Where {
  void* data = nullptr;
  dlpack::Device device{};
  bool copied = false;
};

template <class Structure>
PyObject* make_capsule(const Tensor& tensor, const Where& where, std::vector<std::byte> copy) {
  auto made = std::make_unique<Export<Structure>>();
  made->tensor = tensor;
  made->copy = std::move(copy);
  std::copy(tensor.shape().sizes().begin(), tensor.shape().sizes().end(), made->shape.begin());
  std::copy(tensor.strides().begin(), tensor.strides().end(), made->strides.begin());
  if (where.copied) {
    int64_t stride = 1;
    for (int i = tensor.shape().dimensions() - 1; i >= 0; --i) {
      made->strides[static_cast<size_t>(i)] = stride;
      stride *= tensor.shape()[i];
    }
  }
  const DTypeNames& names = names_of(tensor.dtype());
  dlpack::View& view = made->structure.view;
  view.data = where.copied ? made->copy.data() : where.data;
  view.device = where.device;
  view.ndim = tensor.shape().dimensions();
  view.dtype = {names.code, static_cast<uint8_t>(device::size_of(tensor.dtype()) * 8), 1};
  view.shape = made->shape.data();
  view.strides = made->strides.data();
  made->structure.context = made.get();
  made->structure.deleter = &delete_export<Structure>;
  if constexpr (std::is_same_v<Structure, dlpack::VersionedManaged>) {
    made->structure.version = dlpack::kVersion;
    made->structure.flags = where.copied ? dlpack::kIsCopied : 0;
  }
  Owned capsule = checked(PyCapsule_New(&made->structure, capsule_name<Structure>(), &delete_capsule<Structure>));
  made.release();  // the capsule has it now
  return capsule.release();
}

dlpack::Device device_of(const Tensor& tensor) {
  if (host_address(tensor) != nullptr) return {static_cast<int32_t>(DlpackDevice::Cpu), 0};
  const std::string& name = tensor.device().name();
  const size_t colon = name.find(':');
  int32_t id = 0;
  std::from_chars(name.data() + colon + 1, name.data() + name.size(), id);
  const std::string backend = name.substr(0, colon);
  const DlpackDevice type = backend == "cuda"     ? DlpackDevice::Cuda
                            : backend == "opencl" ? DlpackDevice::OpenCl
                                                  : DlpackDevice::Vulkan;
  return {static_cast<int32_t>(type), id};
}

// None: the caller's default stream. -1: no order is wanted. Other numbers are handles of the driver.
void order_after(const Tensor& tensor, const dlpack::Device& where, PyObject* stream) {
  if (where.type != static_cast<int32_t>(DlpackDevice::Cuda)) return;
  constexpr int64_t kLegacyDefault = 1;
  int64_t handle = kLegacyDefault;
  if (stream != Py_None) {
    const std::optional<int64_t> given = int_argument(stream, "__dlpack__: stream");
    if (!given) throw PythonErrorSet{};
    if (*given < -1 || *given == 0)
      throw InvalidArgument("__dlpack__: stream " + std::to_string(*given) +
                            " is not a stream of CUDA: 1 is the default stream, 2 the default stream of the thread, "
                            "-1 means no order");
    handle = *given;
  }
  if (handle == -1) return;
  without_gil([&] { device::current_stream(tensor.device()).precede(static_cast<uint64_t>(handle)); });
}

std::optional<dlpack::Device> device_argument_of_dlpack(PyObject* object) {
  if (object == Py_None) return std::nullopt;
  int type = 0, id = 0;
  if (!PyTuple_Check(object) || PyArg_ParseTuple(object, "ii", &type, &id) == 0) {
    PyErr_Clear();
    set_type_error("__dlpack__: dl_device", "a tuple of two ints", object);
    throw PythonErrorSet{};
  }
  return dlpack::Device{type, id};
}

bool wants_versioned(PyObject* max_version) {
  if (max_version == Py_None) return false;
  int major = 0, minor = 0;
  if (!PyTuple_Check(max_version) || PyArg_ParseTuple(max_version, "ii", &major, &minor) == 0) {
    PyErr_Clear();
    set_type_error("__dlpack__: max_version", "a tuple of two ints", max_version);
    throw PythonErrorSet{};
  }
  return major >= 1;
}

}  // namespace

PyObject* dlpack_device(const Tensor& tensor) {
  const dlpack::Device device = device_of(tensor);
  return Py_BuildValue("(ii)", static_cast<int>(device.type), static_cast<int>(device.id));
}

PyObject* to_dlpack(const Tensor& tensor, PyObject* stream, PyObject* max_version, PyObject* dl_device,
                    PyObject* copy) {
  const bool versioned = wants_versioned(max_version);
  Where where{nullptr, device_of(tensor), false};
  const auto wanted = device_argument_of_dlpack(dl_device);
  const bool is_there = !wanted || (wanted->type == where.device.type && wanted->id == where.device.id);
  constexpr auto kCpu = static_cast<int32_t>(DlpackDevice::Cpu);
  if (!is_there && wanted->type != kCpu)
    buffer_error("a tensor on " + tensor.device().name() +
                 " can be given to its own device or to the CPU, not to device (" + std::to_string(wanted->type) +
                 ", " + std::to_string(wanted->id) + ")");
  if (!is_there && copy == Py_False)
    buffer_error("a tensor on " + tensor.device().name() + " cannot be given to the CPU without a copy: copy=True");

  std::vector<std::byte> copied;
  if (!is_there || (copy == Py_True && where.device.type == kCpu)) {
    copied = without_gil([&] { return tensor.to_host_bytes(); });
    where.copied = true;
    where.device = {kCpu, 0};
  } else if (where.device.type == kCpu) {
    synchronize_for_host(tensor);
    where.data = host_address(tensor);
  }
  Tensor given = tensor;
  if (!where.copied && where.device.type != kCpu) {
    if (copy == Py_True) given = without_gil([&] { return tensor.clone(); });
    order_after(given, where.device, stream);
    where.data = reinterpret_cast<void*>(given.address());
  }
  return versioned ? make_capsule<dlpack::VersionedManaged>(given, where, std::move(copied))
                   : make_capsule<dlpack::Managed>(given, where, std::move(copied));
}

}  // namespace kymo::python
