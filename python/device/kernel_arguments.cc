#include "device/kernel_arguments.h"

#include <algorithm>
#include <string>

#include "device/dlpack.h"
#include "support/arguments.h"

namespace kymo::python {
namespace {

using device::KernelArgument;

// Throws kymo.InvalidType: a RuntimeError, which PyTorch raises for these mistakes, and a TypeError.
[[noreturn]] void throw_type_error(const std::string& text) {
  PyErr_Clear();
  set_error("InvalidType", text.c_str());
  throw PythonErrorSet{};
}

// An attribute of an object, or nothing: other errors than its absence are errors.
Owned attribute(PyObject* object, const char* name) {
  Owned value(PyObject_GetAttrString(object, name));
  if (value) return value;
  if (PyErr_ExceptionMatches(PyExc_AttributeError) == 0) throw PythonErrorSet{};
  PyErr_Clear();
  return value;
}

bool is_on_cuda(PyObject* object) {
  const Owned method = attribute(object, "__dlpack_device__");
  if (!method) return false;
  const Owned none = checked(PyTuple_New(0));
  const Owned place = checked(PyObject_Call(method.get(), none.get(), nullptr));
  const Owned type = checked(PySequence_GetItem(place.get(), 0));
  const Owned number = checked(PyNumber_Index(type.get()));
  return is_cuda({static_cast<int32_t>(PyLong_AsLong(number.get())), 0});
}

}  // namespace

KernelArguments::KernelArguments(const device::Kernel& kernel, PyObject* args, PyObject* casts,
                                 const device::Stream& stream)
    : kernel_(kernel), stream_(stream) {
  const Py_ssize_t count = PyTuple_Size(args);
  const bool by_index = casts != nullptr && PyDict_Check(casts);
  Cast for_all = Cast::None;
  if (casts != nullptr && casts != Py_None && !by_index) {
    if (!PyUnicode_Check(casts))
      throw_type_error("arg_casts must be a str or a dict from the index of an argument to a str, not " +
                       type_name(casts));
    for_all = parse_cast(casts);
  }
  if (by_index) check_indices(casts, count);
  list_.reserve(static_cast<size_t>(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    Cast cast = for_all;
    if (by_index) {
      const Owned index = checked(PyLong_FromSsize_t(i));
      PyObject* given = PyDict_GetItemWithError(casts, index.get());
      if (given == nullptr && PyErr_Occurred() != nullptr) throw PythonErrorSet{};
      if (given != nullptr) cast = parse_cast(given);
    }
    add(i, PyTuple_GetItem(args, i), cast);
  }
}

KernelArguments::Cast KernelArguments::parse_cast(PyObject* text) {
  constexpr std::pair<const char*, Cast> kCasts[] = {{"fp16", Cast::Fp16},   {"bf16", Cast::Bf16},
                                                     {"int32", Cast::Int32}, {"int16", Cast::Int16},
                                                     {"int8", Cast::Int8},   {"uint8", Cast::UInt8}};
  if (!PyUnicode_Check(text)) throw_type_error("a cast of arg_casts must be a str, not " + type_name(text));
  const Text given(text, "arg_casts");
  for (const auto& [name, cast] : kCasts)
    if (given.view() == name) return cast;
  throw InvalidArgument("\"" + std::string(given.view()) +
                        "\" is not a cast of arg_casts: these are fp16, bf16, int32, int16, int8 and uint8");
}

// A cast for an argument that is not there would be ignored silently.
void KernelArguments::check_indices(PyObject* casts, Py_ssize_t count) const {
  const Owned keys = checked(PyDict_Keys(casts));
  for (Py_ssize_t i = 0; i < PyList_Size(keys.get()); ++i) {
    PyObject* const key = PyList_GetItem(keys.get(), i);
    if (!PyIndex_Check(key))
      throw_type_error("a key of arg_casts must be the index of an argument, an int, not " + type_name(key));
    const auto index = int_argument(key, "a key of arg_casts");
    if (!index) throw PythonErrorSet{};
    if (*index < 0 || *index >= count)
      throw InvalidArgument("arg_casts has a cast for argument " + std::to_string(*index) + ", and kernel \"" +
                            kernel_.name() + "\" was given " + std::to_string(count) +
                            " arguments: the first one has index 0");
  }
}

std::string KernelArguments::about(Py_ssize_t index, const std::string& text) const {
  return "argument " + std::to_string(index + 1) + " of kernel \"" + kernel_.name() + "\" " + text;
}
void KernelArguments::refuse(Py_ssize_t index, const std::string& text) const {
  throw InvalidArgument(about(index, text));
}
void KernelArguments::refuse_type(Py_ssize_t index, const std::string& text) const {
  throw_type_error(about(index, text));
}

void KernelArguments::add(Py_ssize_t index, PyObject* object, Cast cast) {
  if (is_tensor(object)) {
    list_.emplace_back(tensor_of(object));
    return;
  }
  if (PyFloat_Check(object) || PyLong_Check(object)) return add_number(object, cast);
  if (PyList_Check(object) || PyTuple_Check(object)) return add_list(index, object, cast);
  if (PyBytes_Check(object) || PyByteArray_Check(object)) return add_bytes(object);
  if (add_array(index, object, cast)) return;
  if (const Owned bits = attribute(object, "_sampler_bits")) return add_number(bits.get(), Cast::None);
  refuse_type(index, "is of type " + type_name(object) + ": it must be a tensor, a number, or a list of them");
}

// A tensor on CUDA of a library with DLPack's functions in C. False: it is something else.
bool KernelArguments::add_exchanged(PyObject* object) {
  const dlpack::Exchange* exchange = exchange_of(object);
  if (exchange == nullptr) return false;
  const dlpack::View view = view_of(*exchange, object);
  if (!is_cuda(view.device)) return false;
  const std::string name = "cuda:" + std::to_string(view.device.id);
  const bool is_here = stream_.device().name() == name;
  tensors_.push_back(borrow_view(view, is_here ? stream_.device() : device::Device(name)));
  list_.emplace_back(tensors_.back());
  if (!is_here) return true;  // the launch refuses it
  const uint64_t stream = current_stream_of(*exchange, view.device);
  if (std::ranges::find(streams_, stream) != streams_.end()) return true;
  without_gil([&] { stream_.follow(stream); });
  streams_.push_back(stream);
  return true;
}

void KernelArguments::order_others() const {
  if (streams_.empty() && foreign_ == nullptr) return;
  try {
    if (!streams_.empty())
      without_gil([&] {
        for (const uint64_t stream : streams_) stream_.precede(stream);
      });
    if (foreign_ == nullptr) return;
    const Owned module = checked(PyImport_ImportModule("kymo.mps._foreign"));
    const Owned handle = checked(PyObject_CallMethod(module.get(), "current_stream", "O", foreign_));
    if (handle.get() == Py_None) return without_gil([&] { stream_.synchronize(); });
    const auto number = uint_argument(handle.get(), "the handle of a stream");
    if (!number) throw PythonErrorSet{};
    without_gil([&] { stream_.precede(*number); });
  } catch (...) {
    // Nothing orders the other library's next use of its memory, so the launch must have ended.
    without_gil([&] { stream_.synchronize(); });
    throw;
  }
}

// A tensor of another library, or an array.
bool KernelArguments::add_array(Py_ssize_t index, PyObject* object, Cast cast) {
  if (add_exchanged(object)) return true;
  const Owned dimensions = attribute(object, "ndim");
  if (!dimensions) return false;
  if (is_on_cuda(object)) {
    BorrowedTensor borrowed = borrow_dlpack(object, stream_);
    owners_.push_back(std::move(borrowed.owner));
    tensors_.push_back(std::move(borrowed.tensor));
    list_.emplace_back(tensors_.back());
    foreign_ = object;
    return true;
  }
  const long count = PyLong_AsLong(dimensions.get());
  if (count == -1 && PyErr_Occurred() != nullptr) throw PythonErrorSet{};
  if (count != 0)
    refuse_type(index, "is a " + type_name(object) +
                           " on the CPU, and kernels take tensors of the device: pass kymo.mps.tensor(x), or "
                           "kymo.mps.from_numpy(x), which shares its memory");
  Owned number = checked(PyObject_CallMethod(object, "item", nullptr));
  if (!PyFloat_Check(number.get()) && !PyLong_Check(number.get()))
    refuse_type(index, "is a " + type_name(object) + " whose value is a " + type_name(number.get()) + ", not a number");
  add_number(number.get(), cast);
  return true;
}

int64_t KernelArguments::whole(int64_t value, Cast cast) {
  switch (cast) {
    case Cast::Int32:
      return static_cast<int32_t>(value);
    case Cast::Int16:
      return static_cast<int16_t>(value);
    case Cast::Int8:
      return static_cast<int8_t>(value);
    case Cast::UInt8:
      return static_cast<uint8_t>(value);
    default:
      return value;
  }
}

double KernelArguments::rounded(double value, Cast cast) {
  if (cast == Cast::Fp16) return static_cast<float>(device::Half(static_cast<float>(value)));
  if (cast == Cast::Bf16) return static_cast<float>(device::BFloat16(static_cast<float>(value)));
  return value;
}

void KernelArguments::add_number(PyObject* number, Cast cast) {
  const bool to_float = cast == Cast::Fp16 || cast == Cast::Bf16;
  if (PyFloat_Check(number) || to_float) {
    const double value = PyFloat_AsDouble(number);
    if (value == -1 && PyErr_Occurred() != nullptr) throw PythonErrorSet{};
    if (cast == Cast::None || to_float)
      list_.emplace_back(rounded(value, cast));
    else
      list_.emplace_back(whole(static_cast<int64_t>(value), cast));
    return;
  }
  const long long value = PyLong_AsLongLong(number);
  if (value != -1 || PyErr_Occurred() == nullptr) {
    list_.emplace_back(whole(value, cast));
    return;
  }
  PyErr_Clear();
  const unsigned long long large = PyLong_AsUnsignedLongLong(number);
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    refuse(static_cast<Py_ssize_t>(list_.size()),
           "is an int that does not fit 64 bits: pass one from -2**63 to 2**64 - 1");
  }
  if (cast == Cast::None)
    list_.emplace_back(large);
  else
    list_.emplace_back(whole(static_cast<int64_t>(large), cast));
}

void KernelArguments::refuse_element(Py_ssize_t index, Py_ssize_t element, const char* wanted, PyObject* given) const {
  refuse_type(index, "is a list of numbers, but its element " + std::to_string(element) + " is of type " +
                         type_name(given) + ": it must be " + wanted);
}

// The first element decides, as in PyTorch: whole numbers, floats or tensors.
void KernelArguments::add_list(Py_ssize_t index, PyObject* list, Cast cast) {
  held_.push_back(checked(PySequence_Tuple(list)));
  PyObject* items = held_.back().get();
  const Py_ssize_t count = PyTuple_Size(items);
  if (count == 0) refuse(index, "is an empty list: pass at least one number or tensor");
  PyObject* first = PyTuple_GetItem(items, 0);
  if (is_tensor(first)) {
    std::vector<device::Tensor>& tensors = tensor_lists_.emplace_back();
    for (Py_ssize_t i = 0; i < count; ++i) {
      PyObject* item = PyTuple_GetItem(items, i);
      if (!is_tensor(item))
        refuse_type(index,
                    "is a list of tensors, but its element " + std::to_string(i) + " is of type " + type_name(item));
      tensors.push_back(tensor_of(item));
    }
    list_.emplace_back(tensors);
    return;
  }
  const bool to_float = cast == Cast::Fp16 || cast == Cast::Bf16;
  const bool to_whole = cast != Cast::None && !to_float;
  if (!PyFloat_Check(first) && !PyLong_Check(first))
    refuse_type(index,
                "is a list whose first element is of type " + type_name(first) + ": it must be a number or a tensor");
  if ((PyFloat_Check(first) && !to_whole) || to_float) {
    std::vector<double>& values = floats_.emplace_back();
    for (Py_ssize_t i = 0; i < count; ++i) {
      PyObject* item = PyTuple_GetItem(items, i);
      const double value = PyFloat_AsDouble(item);
      if (value == -1 && PyErr_Occurred() != nullptr) {
        if (PyErr_ExceptionMatches(PyExc_TypeError)) refuse_element(index, i, "a number", item);
        throw PythonErrorSet{};
      }
      values.push_back(rounded(value, cast));
    }
    list_.emplace_back(values);
    return;
  }
  std::vector<int64_t>& values = integers_.emplace_back();
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* item = PyTuple_GetItem(items, i);
    if (PyFloat_Check(item) && to_whole) {
      values.push_back(whole(static_cast<int64_t>(PyFloat_AsDouble(item)), cast));
      continue;
    }
    if (!PyIndex_Check(item)) refuse_element(index, i, "an int, as the first one is", item);
    const auto value = int_argument(item, "an element of a list of integers");
    if (!value) throw PythonErrorSet{};
    values.push_back(whole(*value, cast));
  }
  list_.emplace_back(values);
}

void KernelArguments::add_bytes(PyObject* object) {
  const Owned bytes = checked(PyBytes_FromObject(object));
  char* data = nullptr;
  Py_ssize_t size = 0;
  check(PyBytes_AsStringAndSize(bytes.get(), &data, &size));
  const auto* begin = reinterpret_cast<const std::byte*>(data);
  list_.emplace_back(bytes_.emplace_back(begin, begin + size));
}

}  // namespace kymo::python
