#include "device/dlpack.h"

#include <array>
#include <charconv>
#include <memory>
#include <optional>
#include <string>
#include <utility>

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

// ---- Giving tensors away
// ---------------------------------------------------------------------------------------------

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

// ---- Taking tensors of other libraries -----------------------------------------------------------------------------

namespace {

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
  array.shape = device::Shape(std::span<const int64_t>(view.shape, static_cast<size_t>(view.ndim)));
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

// ---- Functions of other libraries in C -----------------------------------------------------------------------------

namespace {

const dlpack::Exchange* usable(const dlpack::ExchangeHeader* header) {
  while (header != nullptr && header->version.major > dlpack::kVersion.major) header = header->previous;
  if (header == nullptr || header->version.major != dlpack::kVersion.major) return nullptr;
  const auto* exchange = reinterpret_cast<const dlpack::Exchange*>(header);
  return exchange->view_of_object != nullptr && exchange->current_stream != nullptr ? exchange : nullptr;
}

const dlpack::Exchange* find_exchange(PyTypeObject* type) {
  const Owned capsule(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), dlpack::kExchangeAttribute));
  if (!capsule) {
    if (PyErr_ExceptionMatches(PyExc_AttributeError) == 0) throw PythonErrorSet{};
    PyErr_Clear();
    return nullptr;
  }
  if (PyCapsule_IsValid(capsule.get(), dlpack::kExchangeName) == 0) return nullptr;
  return usable(static_cast<const dlpack::ExchangeHeader*>(
      PyCapsule_GetPointer(capsule.get(), dlpack::kExchangeName)));  // it lives as long as the process
}

[[noreturn]] void raise_error(const char* what) {
  if (PyErr_Occurred() == nullptr)
    PyErr_Format(PyExc_RuntimeError,
                 "the library of this tensor cannot say %s, and gives no reason: pass a copy, kymo.mps.tensor(x)",
                 what);
  throw PythonErrorSet{};
}

}  // namespace

const dlpack::Exchange* exchange_of(PyObject* object) {
  // The last type that has one. The reference keeps its address from being used by another type.
  static std::pair<Owned, const dlpack::Exchange*>* const last = new std::pair<Owned, const dlpack::Exchange*>;
  PyTypeObject* type = Py_TYPE(object);
  if (last->first.get() == reinterpret_cast<PyObject*>(type)) return last->second;
  const dlpack::Exchange* found = find_exchange(type);
  if (found != nullptr) *last = {Owned::share(reinterpret_cast<PyObject*>(type)), found};
  return found;
}

dlpack::View view_of(const dlpack::Exchange& exchange, PyObject* object) {
  dlpack::View view{};
  if (exchange.view_of_object(object, &view) != 0) raise_error("where it is");
  return view;
}

uint64_t current_stream_of(const dlpack::Exchange& exchange, const dlpack::Device& device) {
  void* stream = nullptr;
  if (exchange.current_stream(device.type, device.id, &stream) != 0) raise_error("what its current stream is");
  return reinterpret_cast<uint64_t>(stream);
}

}  // namespace kymo::python
