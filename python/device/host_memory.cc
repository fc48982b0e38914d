#include "device/host_memory.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "device/dtypes.h"
#include "support/arguments.h"

namespace kymo::python {
namespace {

using device::Shape;
using device::Tensor;

[[noreturn]] void buffer_error(const std::string& text) {
  PyErr_SetString(PyExc_BufferError, text.c_str());
  throw PythonErrorSet{};
}

// The elements in row-major order.
std::vector<std::byte> packed(const ForeignArray& array) {
  const size_t size = device::size_of(array.dtype);
  std::vector<std::byte> bytes(static_cast<size_t>(array.shape.elements()) * size);
  if (bytes.empty()) return bytes;
  const int dimensions = array.shape.dimensions();
  std::array<int64_t, device::kMaxDimensions> at{};
  const auto* from = static_cast<const std::byte*>(array.data);
  for (size_t done = 0; done < bytes.size(); done += size) {
    std::memcpy(bytes.data() + done, from, size);
    for (int i = dimensions - 1; i >= 0; --i) {
      const auto dimension = static_cast<size_t>(i);
      const auto step = array.strides[dimension] * static_cast<int64_t>(size);
      from += step;
      if (++at[dimension] < array.shape[i]) break;
      from -= step * array.shape[i];
      at[dimension] = 0;
    }
  }
  return bytes;
}

bool is_packed(const ForeignArray& array) {
  int64_t expected = 1;
  for (int i = array.shape.dimensions() - 1; i >= 0; --i) {
    if (array.shape[i] != 1 && array.strides[static_cast<size_t>(i)] != expected) return false;
    expected *= array.shape[i];
  }
  return true;
}

Tensor copy_of(const ForeignArray& array, const device::Device& device) {
  return without_gil([&] {
    Tensor tensor = device::empty(array.shape, array.dtype, device);
    if (is_packed(array))
      tensor.copy_from_bytes({static_cast<const std::byte*>(array.data), tensor.bytes()});
    else
      tensor.copy_from_bytes(packed(array));
    return tensor;
  });
}

// Why the array must be copied; empty: it can be shared, if the device can.
std::string reason_to_copy(const ForeignArray& array) {
  if (array.read_only) return "it is read-only";
  if (std::ranges::any_of(array.used_strides(), [](int64_t stride) { return stride < 0; }))
    return "it has a negative stride";
  if (reinterpret_cast<uintptr_t>(array.data) % device::size_of(array.dtype) != 0) return "it is not aligned";
  return {};
}

}  // namespace

void ForeignArray::set_strides(const int64_t* given) {
  int64_t packed_stride = 1;
  for (int i = shape.dimensions() - 1; i >= 0; --i) {
    strides[static_cast<size_t>(i)] = given != nullptr ? given[i] : packed_stride;
    packed_stride *= std::max<int64_t>(shape[i], 1);
  }
}

Tensor from_host_array(ForeignArray array, const device::Device& device, PyObject* copy) {
  if (copy == Py_True) return copy_of(array, device);
  std::string reason = reason_to_copy(array);
  if (reason.empty()) {
    const Tensor shared = without_gil([&] {
      return device::from_host_memory(array.data, array.dtype, array.shape, array.used_strides(), device, array.owner);
    });
    if (shared.is_defined()) return shared;
    reason = device.name() + " has memory of its own";
  }
  if (copy == Py_False) buffer_error("this array cannot be a tensor without a copy: " + reason);
  return copy_of(array, device);
}

Tensor from_buffer(PyObject* object, const device::Device& device, PyObject* copy) {
  auto* view = new Py_buffer{};
  if (PyObject_GetBuffer(object, view, PyBUF_RECORDS_RO) < 0) {
    delete view;
    if (PyErr_ExceptionMatches(PyExc_TypeError)) {
      PyErr_Clear();
      set_type_error("the data of a tensor", "a number, a list, an array or a tensor", object);
    }
    throw PythonErrorSet{};
  }
  ForeignArray array;
  array.owner = std::shared_ptr<void>(view, [](void* pointer) {
    if (Py_IsInitialized() == 0) return;  // Python has ended, and its objects with it
    const WithGil gil;
    PyBuffer_Release(static_cast<Py_buffer*>(pointer));
    delete static_cast<Py_buffer*>(pointer);
  });
  const char* format = view->format == nullptr ? "B" : view->format;
  const auto dtype = dtype_of_format(format, view->itemsize);
  if (!dtype) {
    PyErr_Format(PyExc_TypeError,
                 "an array with elements of format \"%s\" cannot be a tensor: its elements must be numbers in the byte "
                 "order of this machine; complex numbers can be viewed as pairs of floats",
                 format);
    throw PythonErrorSet{};
  }
  if (view->ndim > device::kMaxDimensions)
    throw InvalidArgument("an array of " + std::to_string(view->ndim) + " dimensions cannot be a tensor: the max is " +
                          std::to_string(device::kMaxDimensions));
  std::array<int64_t, device::kMaxDimensions> sizes{}, strides{};
  for (int i = 0; i < view->ndim; ++i) {
    const auto dimension = static_cast<size_t>(i);
    sizes[dimension] = view->shape[i];
    strides[dimension] = view->strides[i] / view->itemsize;
    if (view->strides[i] % view->itemsize != 0)
      throw InvalidArgument(
          "an array whose strides are not multiples of its element's size cannot be a tensor: copy it");
  }
  array.data = view->buf;
  array.dtype = *dtype;
  array.shape = Shape(std::span<const int64_t>(sizes.data(), static_cast<size_t>(view->ndim)));
  array.set_strides(strides.data());
  array.read_only = view->readonly != 0;
  return from_host_array(std::move(array), device, copy);
}

// ---- Tensors for the host ------------------------------------------------------------------------------------------

void* host_address(const Tensor& tensor) {
  if (tensor.elements() != 0) return tensor.host_address();
  static constinit uint64_t nothing = 0;
  return tensor.device().name().starts_with("cuda") ? nullptr : &nothing;
}

void synchronize_for_host(const Tensor& tensor) {
  without_gil([&] { device::synchronize(tensor.device()); });
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) noexcept {
  try {
    const Tensor& tensor = tensor_of(self);
    view->obj = nullptr;
    void* data = host_address(tensor);
    if (data == nullptr) {
      buffer_error("a tensor on " + tensor.device().name() +
                   " is not in the memory of the host: use cpu(), which copies it");
    }
    const DTypeNames& names = names_of(tensor.dtype());
    if (names.format == nullptr)
      buffer_error("Python's buffers have no format for " + std::string(names.name) +
                   ": use cpu(), which converts it to float32");
    const bool wants_strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
    const bool wants_rows = (flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS;
    if ((!wants_strides || wants_rows) && !tensor.is_contiguous())
      buffer_error("this tensor is not contiguous, and the caller cannot use strides: pass contiguous()");
    if ((flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS && tensor.shape().dimensions() > 1)
      buffer_error("the elements of this tensor are in row-major order, and the caller needs column-major order");
    synchronize_for_host(tensor);

    const auto dimensions = static_cast<size_t>(tensor.shape().dimensions());
    auto* numbers = new Py_ssize_t[dimensions * 2 + 1];
    view->itemsize = static_cast<Py_ssize_t>(device::size_of(tensor.dtype()));
    for (size_t i = 0; i < dimensions; ++i) {
      numbers[i] = tensor.shape().sizes()[i];
      numbers[dimensions + i] = tensor.strides()[i] * view->itemsize;
    }
    view->buf = data;
    view->len = static_cast<Py_ssize_t>(tensor.bytes());
    view->readonly = 0;
    view->format = (flags & PyBUF_FORMAT) != 0 ? const_cast<char*>(names.format) : nullptr;
    view->ndim = static_cast<int>(dimensions);
    view->shape = (flags & PyBUF_ND) != 0 ? numbers : nullptr;
    view->strides = wants_strides ? numbers + dimensions : nullptr;
    view->suboffsets = nullptr;
    view->internal = numbers;
    Py_INCREF(self);
    view->obj = self;
    return 0;
  } catch (...) {
    set_current_exception();
    return -1;
  }
}

void release_buffer(PyObject*, Py_buffer* view) noexcept { delete[] static_cast<Py_ssize_t*>(view->internal); }

}  // namespace kymo::python
