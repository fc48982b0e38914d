// The type Tensor.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/dlpack.h"
#include "device/dtypes.h"
#include "device/host_memory.h"
#include "device/types.h"
#include "kymo/error.h"
#include "support/arguments.h"

namespace kymo::python {
namespace {

using device::Tensor;

// ---- Views: x[index] and x.view(shape) -----------------------------------------------------------------------------

// Applies one index to the dimension; moves on to the next one.
Tensor apply(const Tensor& tensor, PyObject* index, int& dimension) {
  if (dimension >= tensor.shape().dimensions()) {
    PyErr_Format(PyExc_IndexError, "too many indices for tensor of dimension %d", tensor.shape().dimensions());
    throw PythonErrorSet{};
  }
  const int64_t size = tensor.shape()[dimension];
  if (PySlice_Check(index)) {
    Py_ssize_t begin = 0, end = 0, step = 0;
    check(PySlice_Unpack(index, &begin, &end, &step));
    if (step < 1) {
      PyErr_SetString(PyExc_ValueError, "step must be greater than zero");
      throw PythonErrorSet{};
    }
    PySlice_AdjustIndices(size, &begin, &end, step);
    return tensor.slice(dimension++, begin, end, step);
  }
  if (PyIndex_Check(index) == 0) {
    set_type_error("an index of a tensor", "an int, a slice or ...", index);
    throw PythonErrorSet{};
  }
  const auto number = int_argument(index, "an index of a tensor");
  if (!number) throw PythonErrorSet{};
  if (*number < -size || *number >= size) {
    PyErr_Format(PyExc_IndexError, "index %lld is out of bounds for dimension %d with size %lld",
                 static_cast<long long>(*number), dimension, static_cast<long long>(size));
    throw PythonErrorSet{};
  }
  return tensor.select(dimension, *number);
}

// `index` is an int, a slice with a positive step, `...`, or a tuple of these. Throws PythonErrorSet with an
// IndexError, a ValueError or a TypeError.
Tensor view_at(const Tensor& tensor, PyObject* index) {
  int dimension = 0;
  if (index == Py_Ellipsis) return tensor;
  if (!PyTuple_Check(index)) return apply(tensor, index, dimension);
  const Py_ssize_t count = PyTuple_Size(index);
  Tensor view = tensor;
  bool seen = false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* one = PyTuple_GetItem(index, i);
    if (one != Py_Ellipsis) {
      view = apply(view, one, dimension);
      continue;
    }
    if (seen) {
      PyErr_SetString(PyExc_IndexError, "an index can only have a single ellipsis ('...')");
      throw PythonErrorSet{};
    }
    seen = true;
    dimension = view.shape().dimensions() - static_cast<int>(count - i - 1);
    if (dimension < 0) dimension = view.shape().dimensions();  // too many indices follow
  }
  return view;
}

// The same memory with another shape. Throws InvalidArgument if only a copy can have it.
Tensor view_as(const Tensor& tensor, const device::Shape& shape) {
  const device::Shape& from = tensor.shape();
  if (tensor.is_contiguous() || from.elements() == 0 || shape.elements() != from.elements())
    return tensor.reshape(shape);
  // From the innermost dimension: those that follow each other in memory at one distance are one run, and the new
  // dimensions must divide the runs.
  Tensor::Strides strides{};
  int next = shape.dimensions() - 1;
  int64_t distance = tensor.strides().back(), in_run = 1, taken = 1;
  bool fits = true;
  for (int i = from.dimensions() - 1; i >= 0; --i) {
    in_run *= from[i];
    const int64_t outer = i > 0 ? tensor.strides()[static_cast<size_t>(i - 1)] : 0;
    if (i > 0 && (from[i - 1] == 1 || outer == in_run * distance)) continue;
    for (; next >= 0 && (taken < in_run || shape[next] == 1); --next) {
      strides[static_cast<size_t>(next)] = taken * distance;
      taken *= shape[next];
    }
    fits = fits && taken == in_run;
    distance = outer;
    in_run = taken = 1;
  }
  if (!fits)
    throw InvalidArgument("view: a tensor of shape " + from.text() + " that is not contiguous cannot have shape " +
                          shape.text() + " without a copy; use reshape(), which copies it then");
  return {tensor.storage(), tensor.dtype(), shape, strides, tensor.offset()};
}

// ---- Properties ----------------------------------------------------------------------------------------------------

PyObject* tuple_of(std::span<const int64_t> numbers) {
  Owned tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(numbers.size())));
  for (size_t i = 0; i < numbers.size(); ++i)
    check(PyTuple_SetItem(tuple.get(), static_cast<Py_ssize_t>(i), checked(PyLong_FromLongLong(numbers[i])).release()));
  return tuple.release();
}

PyObject* get_shape(PyObject* self, void*) {
  return guarded([&] { return tuple_of(tensor_of(self).shape().sizes()); });
}
PyObject* get_dtype(PyObject* self, void*) { return PyUnicode_FromString(names_of(tensor_of(self).dtype()).name); }
PyObject* get_device(PyObject* self, void*) {
  return guarded([&] { return to_python(tensor_of(self).device().name()); });
}
PyObject* get_ndim(PyObject* self, void*) { return PyLong_FromLong(tensor_of(self).shape().dimensions()); }
PyObject* get_nbytes(PyObject* self, void*) { return PyLong_FromSize_t(tensor_of(self).bytes()); }
PyObject* get_itemsize(PyObject* self, void*) { return PyLong_FromSize_t(device::size_of(tensor_of(self).dtype())); }

// ---- Methods -------------------------------------------------------------------------------------------------------

PyObject* size(PyObject* self, PyObject*) { return get_shape(self, nullptr); }
PyObject* stride(PyObject* self, PyObject*) {
  return guarded([&] { return tuple_of(tensor_of(self).strides()); });
}
PyObject* numel(PyObject* self, PyObject*) { return PyLong_FromLongLong(tensor_of(self).elements()); }
PyObject* data_ptr(PyObject* self, PyObject*) {
  return guarded([&] { return PyLong_FromUnsignedLongLong(tensor_of(self).address()); });
}
PyObject* is_contiguous(PyObject* self, PyObject*) { return PyBool_FromLong(tensor_of(self).is_contiguous()); }
PyObject* is_shared(PyObject* self, PyObject*) {
  return guarded([&] { return PyBool_FromLong(host_address(tensor_of(self)) != nullptr); });
}
PyObject* contiguous(PyObject* self, PyObject*) {
  return guarded([&] { return to_python(without_gil([&] { return tensor_of(self).contiguous(); })); });
}
PyObject* clone(PyObject* self, PyObject*) {
  return guarded([&] { return to_python(without_gil([&] { return tensor_of(self).clone(); })); });
}

// The shape that reshape() and view() of a tensor are given.
device::Shape new_shape(PyObject* self, PyObject* args) {
  PyObject* only = PyTuple_Size(args) == 1 ? PyTuple_GetItem(args, 0) : nullptr;
  const bool is_sequence = only != nullptr && (PyTuple_Check(only) || PyList_Check(only));
  const Owned sizes = checked(PySequence_List(is_sequence ? only : args));
  // One size may be -1: what remains of the elements.
  int64_t known = 1;
  Py_ssize_t open = -1;
  for (Py_ssize_t i = 0; i < PyList_Size(sizes.get()); ++i) {
    const auto number = int_argument(PyList_GetItem(sizes.get(), i), "reshape: a size");
    if (!number) throw PythonErrorSet{};
    if (*number < -1)
      throw InvalidArgument("reshape: size " + std::to_string(*number) +
                            " is negative; a size is 0 or more, or -1 for what remains");
    if (*number == -1 && open != -1)
      throw InvalidArgument("reshape: sizes " + std::to_string(open) + " and " + std::to_string(i) +
                            " are both -1; only one size may be -1");
    if (*number == -1)
      open = i;
    else if (__builtin_mul_overflow(known, *number, &known))
      throw InvalidArgument("reshape: the shape is too large");
  }
  const int64_t elements = tensor_of(self).elements();
  if (open != -1) {
    if (known == 0 || elements % known != 0)
      throw InvalidArgument("reshape: a size of -1 is not possible here: " + std::to_string(elements) +
                            " elements cannot be divided by " + std::to_string(known));
    check(PyList_SetItem(sizes.get(), open, checked(PyLong_FromLongLong(elements / known)).release()));
  }
  return shape_argument(sizes.get());
}

PyObject* reshape(PyObject* self, PyObject* args) {
  return guarded([&] {
    const device::Shape shape = new_shape(self, args);
    return to_python(without_gil([&] { return tensor_of(self).reshape(shape); }));
  });
}

PyObject* view(PyObject* self, PyObject* args) {
  return guarded([&] { return to_python(view_as(tensor_of(self), new_shape(self, args))); });
}

// Fills a tensor of 64-bit integers with a whole number that a double does not hold exactly. False: it is another one.
bool fill_exactly(Tensor& tensor, PyObject* value) {
  const bool is_signed = tensor.dtype() == device::DType::I64;
  if ((!is_signed && tensor.dtype() != device::DType::U64) || PyIndex_Check(value) == 0) return false;
  const Owned number(PyNumber_Index(value));
  if (!number) {  // an array of NumPy, which may be one number
    PyErr_Clear();
    return false;
  }
  const uint64_t bits = is_signed ? static_cast<uint64_t>(PyLong_AsLongLong(number.get()))
                                  : static_cast<uint64_t>(PyLong_AsUnsignedLongLong(number.get()));
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    const Owned text = checked(PyObject_Str(number.get()));
    throw InvalidArgument(std::string(Text(text.get(), "fill_").view()) + " does not fit a tensor of " +
                          names_of(tensor.dtype()).name + ", which takes " +
                          (is_signed ? "-9223372036854775808 to 9223372036854775807" : "0 to 18446744073709551615"));
  }
  constexpr uint64_t kExact = uint64_t{1} << 53;
  if (bits <= kExact || (is_signed && bits >= -kExact)) return false;
  const int64_t count = tensor.elements();
  if (count == 0) return true;
  without_gil([&] {
    // One element first. Then each copy doubles the part that is filled.
    const Tensor packed =
        tensor.is_contiguous() ? tensor : device::empty(tensor.shape(), tensor.dtype(), tensor.device());
    const Tensor flat = packed.reshape({count});
    flat.slice(0, 0, 1).copy_from_bytes(std::as_bytes(std::span(&bits, 1)));
    for (int64_t done = 1; done < count; done *= 2) {
      const int64_t more = std::min(done, count - done);
      flat.slice(0, done, done + more).copy_from(flat.slice(0, 0, more));
    }
    if (!tensor.is_contiguous()) tensor.copy_from(packed);
  });
  return true;
}

PyObject* fill(PyObject* self, PyObject* value) {
  return guarded([&]() -> PyObject* {
    if (fill_exactly(tensor_of(self), value)) return Owned::share(self).release();
    const double number = PyFloat_AsDouble(value);
    if (number == -1 && PyErr_Occurred() != nullptr) return nullptr;
    without_gil([&] { tensor_of(self).fill(number); });
    return Owned::share(self).release();
  });
}

PyObject* copy_from(PyObject* self, PyObject* from) {
  return guarded([&]() -> PyObject* {
    if (PyFloat_Check(from) || PyLong_Check(from)) return fill(self, from);
    Owned list;
    if (PyList_Check(from) || PyTuple_Check(from)) {
      const Owned module = checked(PyImport_ImportModule("kymo.mps._host"));
      list = checked(PyObject_CallMethod(module.get(), "tensor_like", "OO", self, from));
      from = list.get();
    }
    if (is_tensor(from)) {
      without_gil([&] { tensor_of(self).copy_from(tensor_of(from)); });
    } else {
      Tensor other = from_buffer(from, tensor_of(self).device(), Py_None);
      without_gil([&] {
        tensor_of(self).copy_from(other);
        other = {};  // if it shares the memory of `from`, this waits for the device
      });
    }
    return Owned::share(self).release();
  });
}

PyObject* to_device(PyObject* self, PyObject* where) {
  return guarded([&] {
    const device::Device device = device_argument(where);
    return to_python(without_gil([&] { return tensor_of(self).to(device); }));
  });
}

PyObject* to_bytes(PyObject* self, PyObject*) {
  return guarded([&] {
    Owned bytes = checked(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(tensor_of(self).bytes())));
    char* data = nullptr;
    Py_ssize_t length = 0;
    check(PyBytes_AsStringAndSize(bytes.get(), &data, &length));
    without_gil([&] {
      tensor_of(self).copy_to_bytes({reinterpret_cast<std::byte*>(data), static_cast<size_t>(length)});
    });
    return bytes.release();
  });
}

PyObject* copy_to(PyObject* self, PyObject* to) {
  return guarded([&]() -> PyObject* {
    Py_buffer view{};
    check(PyObject_GetBuffer(to, &view, PyBUF_CONTIG));
    const std::unique_ptr<Py_buffer, decltype(&PyBuffer_Release)> release(&view, &PyBuffer_Release);
    without_gil([&] {
      tensor_of(self).copy_to_bytes({static_cast<std::byte*>(view.buf), static_cast<size_t>(view.len)});
    });
    return Py_NewRef(Py_None);
  });
}

PyObject* dlpack(PyObject* self, PyObject* args, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    PyObject *stream = Py_None, *max_version = Py_None, *dl_device = Py_None, *copy = Py_None;
    static const char* names[] = {"stream", "max_version", "dl_device", "copy", nullptr};
    if (PyArg_ParseTupleAndKeywords(args, keywords, "|$OOOO:__dlpack__", const_cast<char**>(names), &stream,
                                    &max_version, &dl_device, &copy) == 0)
      return nullptr;
    return to_dlpack(tensor_of(self), stream, max_version, dl_device, copy);
  });
}

PyObject* get_dlpack_device(PyObject* self, PyObject*) {
  return guarded([&] { return dlpack_device(tensor_of(self)); });
}

// What needs NumPy is in Python: kymo.mps._host.NAME(self, ...).
template <const char* Name>
PyObject* in_python(PyObject* self, PyObject* args, PyObject* keywords) {
  return guarded([&] {
    const Owned module = checked(PyImport_ImportModule("kymo.mps._host"));
    const Owned function = checked(PyObject_GetAttrString(module.get(), Name));
    const Owned first = checked(PyTuple_Pack(1, self)), all = checked(PySequence_Concat(first.get(), args));
    return PyObject_Call(function.get(), all.get(), keywords);
  });
}
template <const char* Name>
PyObject* in_python_alone(PyObject* self, PyObject*) {
  const Owned none(PyTuple_New(0));
  return none ? in_python<Name>(self, none.get(), nullptr) : nullptr;
}
constexpr char kNumpy[] = "numpy", kCpu[] = "cpu", kItem[] = "item", kList[] = "tolist", kArray[] = "array",
               kShow[] = "show", kFloat[] = "as_float", kInt[] = "as_int", kBool[] = "as_bool";

PyObject* repr(PyObject* self) { return in_python_alone<kShow>(self, nullptr); }
PyObject* as_float(PyObject* self) { return in_python_alone<kFloat>(self, nullptr); }
PyObject* as_int(PyObject* self) { return in_python_alone<kInt>(self, nullptr); }

// By elements, as PyTorch compares; so the hash is the one of the object.
PyObject* compare(PyObject* self, PyObject* other, int operation) {
  return guarded([&] {
    const Owned module = checked(PyImport_ImportModule("kymo.mps._host"));
    return PyObject_CallMethod(module.get(), "compare", "OOi", self, other, operation);
  });
}

Py_hash_t hash(PyObject* self) { return static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(self) >> 4); }

int as_bool(PyObject* self) {
  const Owned value(in_python_alone<kBool>(self, nullptr));
  return value ? PyObject_IsTrue(value.get()) : -1;
}

// ---- Elements ------------------------------------------------------------------------------------------------------

Py_ssize_t length(PyObject* self) {
  const device::Shape& shape = tensor_of(self).shape();
  if (shape.dimensions() != 0) return shape[0];
  PyErr_SetString(PyExc_TypeError, "len() of a 0-d tensor");
  return -1;
}

PyObject* get_item(PyObject* self, PyObject* index) {
  return guarded([&] { return to_python(view_at(tensor_of(self), index)); });
}

PyObject* item_at(PyObject* self, Py_ssize_t index) {
  const Owned number(PyLong_FromSsize_t(index));
  return number ? get_item(self, number.get()) : nullptr;
}

int set_item(PyObject* self, PyObject* index, PyObject* value) {
  return guarded([&]() -> PyObject* {
           if (value == nullptr) {
             PyErr_SetString(PyExc_TypeError, "elements of a tensor cannot be deleted");
             return nullptr;
           }
           const Owned view = checked(to_python(view_at(tensor_of(self), index)));
           const Owned done = checked(copy_from(view.get(), value));
           return Owned::share(Py_None).release();
         }) == nullptr
             ? -1
             : (Py_DECREF(Py_None), 0);
}

PyGetSetDef attributes[] = {
    {"shape", get_shape, nullptr, "The sizes of its dimensions, outermost first.", nullptr},
    {"dtype", get_dtype, nullptr, "The name of its element type, such as \"float32\".", nullptr},
    {"device", get_device, nullptr, "The name of its device, such as \"cuda:0\".", nullptr},
    {"ndim", get_ndim, nullptr, "The number of its dimensions.", nullptr},
    {"nbytes", get_nbytes, nullptr, "The bytes of its elements.", nullptr},
    {"itemsize", get_itemsize, nullptr, "The bytes of one element.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyCFunction with_keywords(PyCFunctionWithKeywords function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef methods[] = {
    {"size", size, METH_NOARGS, "size(): the same as shape."},
    {"stride", stride, METH_NOARGS, "stride(): the distance of neighbours in each dimension, in elements."},
    {"numel", numel, METH_NOARGS, "numel(): the number of elements."},
    {"data_ptr", data_ptr, METH_NOARGS, "data_ptr(): the address of the first element, on the device."},
    {"is_contiguous", is_contiguous, METH_NOARGS, "is_contiguous(): whether its elements follow each other."},
    {"is_shared_with_host", is_shared, METH_NOARGS,
     "is_shared_with_host(): whether NumPy and the CPU can use its memory without a copy."},
    {"contiguous", contiguous, METH_NOARGS, "contiguous(): the tensor itself, or a copy that is contiguous."},
    {"clone", clone, METH_NOARGS, "clone(): a copy."},
    {"reshape", reshape, METH_VARARGS,
     "reshape(*sizes): the same elements with another shape; one size may be -1. Copies if it must."},
    {"view", view, METH_VARARGS,
     "view(*sizes): the same memory with another shape. An error where only a copy can have that shape."},
    {"fill_", fill, METH_O, "fill_(value): sets all elements."},
    {"copy_", copy_from, METH_O,
     "copy_(other): copies from a tensor or an array of the same shape and dtype, a list, or one number."},
    {"to", to_device, METH_O, "to(device): the tensor on that device; a copy if it is on another one."},
    {"tobytes", to_bytes, METH_NOARGS, "tobytes(): its elements as bytes, in row-major order."},
    {"_copy_to", copy_to, METH_O, "_copy_to(buffer): tobytes() into memory that can be written."},
    {"numpy", in_python_alone<kNumpy>, METH_NOARGS,
     "numpy(): an array of NumPy that shares its memory. TypeError if the device has memory of its own."},
    {"cpu", in_python_alone<kCpu>, METH_NOARGS, "cpu(): a copy as an array of NumPy."},
    {"item", in_python_alone<kItem>, METH_NOARGS, "item(): the value of a tensor of one element."},
    {"tolist", in_python_alone<kList>, METH_NOARGS, "tolist(): its elements as nested lists."},
    {"__array__", with_keywords(in_python<kArray>), METH_VARARGS | METH_KEYWORDS,
     "For NumPy: shares the memory if possible, otherwise copies."},
    {"__dlpack__", with_keywords(dlpack), METH_VARARGS | METH_KEYWORDS,
     "__dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None): a DLPack capsule."},
    {"__dlpack_device__", get_dlpack_device, METH_NOARGS, "__dlpack_device__(): where DLPack says that it is."},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_doc,
     const_cast<char*>("An array in the memory of a device. Create it with zeros(), tensor(), from_numpy(), …")},
    {Py_tp_dealloc, reinterpret_cast<void*>(&delete_object<TensorObject>)},
    {Py_tp_getset, attributes},
    {Py_tp_methods, methods},
    {Py_tp_repr, reinterpret_cast<void*>(&repr)},
    {Py_tp_richcompare, reinterpret_cast<void*>(&compare)},
    {Py_tp_hash, reinterpret_cast<void*>(&hash)},
    {Py_nb_bool, reinterpret_cast<void*>(&as_bool)},
    {Py_nb_float, reinterpret_cast<void*>(&as_float)},
    {Py_nb_int, reinterpret_cast<void*>(&as_int)},
    {Py_sq_item, reinterpret_cast<void*>(&item_at)},  // for iteration
    {Py_mp_length, reinterpret_cast<void*>(&length)},
    {Py_mp_subscript, reinterpret_cast<void*>(&get_item)},
    {Py_mp_ass_subscript, reinterpret_cast<void*>(&set_item)},
    {Py_bf_getbuffer, reinterpret_cast<void*>(&get_buffer)},
    {Py_bf_releasebuffer, reinterpret_cast<void*>(&release_buffer)},
    {0, nullptr},
};

}  // namespace

PyType_Spec tensor_spec = {"kymo.mps.Tensor", sizeof(TensorObject), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE, slots};

}  // namespace kymo::python
