#include "support/arguments.h"

#include "support/errors.h"

namespace kymo::python {

Text::Text(PyObject* object, const char* what) noexcept {
  data_ = PyUnicode_AsUTF8AndSize(object, &size_);
  if (data_ != nullptr) return;
  if (!PyUnicode_Check(object)) {
    PyErr_Clear();
    set_type_error(what, "str", object);
    return;
  }
  PyErr_Clear();
  copy_ = Owned(PyUnicode_AsEncodedString(object, "utf-8", "backslashreplace"));
  if (!copy_) return;
  char* bytes = nullptr;
  if (PyBytes_AsStringAndSize(copy_.get(), &bytes, &size_) == 0) data_ = bytes;
}

std::string path_argument(PyObject* object) {
  PyObject* bytes = nullptr;
  if (PyUnicode_FSConverter(object, &bytes) == 0) throw PythonErrorSet{};
  const Owned held(bytes);
  char* data = nullptr;
  Py_ssize_t size = 0;
  check(PyBytes_AsStringAndSize(bytes, &data, &size));
  return std::string(data, static_cast<size_t>(size));
}

std::string type_name(PyObject* object) noexcept {
  const Owned name(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(object)), "__name__"));
  Py_ssize_t size = 0;
  const char* text = name ? PyUnicode_AsUTF8AndSize(name.get(), &size) : nullptr;
  if (text == nullptr) {
    PyErr_Clear();
    return "object";
  }
  return std::string(text, static_cast<size_t>(size));
}

void set_type_error(const char* what, const char* expected, PyObject* given) noexcept {
  PyErr_Format(PyExc_TypeError, "%s must be %s, not %s", what, expected, type_name(given).c_str());
}

namespace {

// The int of an object with __index__; a TypeError is set if it has none.
Owned index_of(PyObject* object, const char* what) noexcept {
  Owned number(PyNumber_Index(object));
  if (!number && PyErr_ExceptionMatches(PyExc_TypeError)) {
    PyErr_Clear();
    set_type_error(what, "int", object);
  }
  return number;
}

void set_range_error(const char* what, const char* range, PyObject* given) noexcept {
  PyErr_Clear();
  PyErr_Format(PyExc_OverflowError, "%s is %R; it must be %s", what, given, range);
}

}  // namespace

std::optional<int64_t> int_argument(PyObject* object, const char* what) noexcept {
  const Owned number = index_of(object, what);
  if (!number) return std::nullopt;
  const long long value = PyLong_AsLongLong(number.get());
  if (value == -1 && PyErr_Occurred() != nullptr) {
    set_range_error(what, "from -2**63 to 2**63 - 1", object);
    return std::nullopt;
  }
  return value;
}

std::optional<uint64_t> uint_argument(PyObject* object, const char* what) noexcept {
  const Owned number = index_of(object, what);
  if (!number) return std::nullopt;
  const unsigned long long value = PyLong_AsUnsignedLongLong(number.get());
  if (value == static_cast<unsigned long long>(-1) && PyErr_Occurred() != nullptr) {
    set_range_error(what, "from 0 to 2**64 - 1", object);
    return std::nullopt;
  }
  return value;
}

}  // namespace kymo::python
