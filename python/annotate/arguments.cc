#include "annotate/arguments.h"

namespace kymo::python {

Places places_of(std::string_view message) noexcept {
  Places found = Places::Plain;
  bool inside = false;
  for (size_t i = 0; i < message.size(); ++i) {
    const char c = message[i];
    if (!inside) {
      if (c == '{' && i + 1 < message.size() && message[i + 1] == '{') {
        ++i;
      } else if (c == '{') {
        inside = true;
      }
      continue;
    }
    if (c == '{' || c == '!' || c == '[') return Places::Python;
    if (c == '.' && found != Places::Format) return Places::Python;
    if (c == ':') found = Places::Format;
    if (c == '}') inside = false;
  }
  return found;
}

bool clear_ordinary_exception() noexcept {
  if (PyErr_Occurred() == nullptr) return true;
  if (!PyErr_ExceptionMatches(PyExc_Exception)) return false;
  PyErr_Clear();
  return true;
}

bool EventArguments::add_number(PyObject* value, kymo_arg& into) noexcept {
  const Owned number(PyNumber_Index(value));
  if (!number) return false;
  int overflow = 0;  // also the sign
  const long long small = PyLong_AsLongLongAndOverflow(number.get(), &overflow);
  if (overflow == 0) {
    into.type = KYMO_INT;
    into.value.as_int = small;
    return !(small == -1 && PyErr_Occurred() != nullptr);
  }
  if (overflow < 0) return false;
  const unsigned long long large = PyLong_AsUnsignedLongLong(number.get());
  if (PyErr_Occurred() != nullptr) {
    if (PyErr_ExceptionMatches(PyExc_OverflowError)) PyErr_Clear();  // a number of more than 64 bits is a text
    return false;
  }
  into.type = KYMO_UINT;
  into.value.as_uint = large;
  return true;
}

bool EventArguments::add_text(PyObject* value, kymo_arg& into) noexcept {
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(value, &size);
  if (text == nullptr) {
    PyErr_Clear();
    held_[count_] = Owned(PyUnicode_AsEncodedString(value, "utf-8", "backslashreplace"));
    char* bytes = nullptr;
    if (!held_[count_] || PyBytes_AsStringAndSize(held_[count_].get(), &bytes, &size) != 0) return false;
    text = bytes;
  }
  into.type = KYMO_STRING;
  into.value.as_text = text;
  into.length = static_cast<uint32_t>(size < INT32_MAX ? size : INT32_MAX);
  return true;
}

bool EventArguments::add(PyObject* value, PyObject* name, Places places) noexcept {
  if (count_ == kMost) return true;
  kymo_arg made{nullptr, {}, 0, 0};
  if (name != nullptr) {
    made.name = PyUnicode_AsUTF8AndSize(name, nullptr);
    if (made.name == nullptr) return false;
  }
  bool stored = false;
  if (value == Py_True || value == Py_False) {  // as text: readers write a bool as C does
    if (places != Places::Plain) return false;
    made.type = KYMO_STRING;
    made.value.as_text = value == Py_True ? "True" : "False";
    made.length = value == Py_True ? 4 : 5;
    stored = true;
  } else if (PyUnicode_Check(value)) {
    stored = add_text(value, made);
  } else if (PyFloat_Check(value)) {
    made.type = KYMO_DOUBLE;
    made.value.as_double = PyFloat_AsDouble(value);
    stored = true;
  } else if (PyIndex_Check(value)) {
    stored = add_number(value, made);
  }
  if (!stored && PyErr_Occurred() == nullptr && places == Places::Plain) {
    Owned text(PyObject_Str(value));
    stored = text && add_text(text.get(), made);
    if (stored && !held_[count_]) held_[count_] = std::move(text);
  }
  if (stored) args_[count_++] = made;
  return stored;
}

}  // namespace kymo::python
