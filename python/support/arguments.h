// Arguments of functions: text and numbers of Python as values of C++. A wrong type is a TypeError that says what was
// given, as "range_push: msg must be str, not int".
#pragma once

#include <Python.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "support/owned.h"

namespace kymo::python {

// The UTF-8 text of a str. It belongs to the str, except for text that UTF-8 cannot express (single surrogates), which
// is escaped into a copy.
class Text {
 public:
  // Not valid and a TypeError set if `object` is not a str. `what` is for the message: "range_push: msg".
  Text(PyObject* object, const char* what) noexcept;
  bool is_valid() const noexcept { return data_ != nullptr; }
  std::string_view view() const noexcept { return {data_, static_cast<size_t>(size_)}; }

 private:
  const char* data_ = nullptr;
  Py_ssize_t size_ = 0;
  Owned copy_;
};

// The same for a file name: str, bytes or os.PathLike. Throws PythonErrorSet.
std::string path_argument(PyObject* object);

// "TYPE" of an object, for messages.
std::string type_name(PyObject* object) noexcept;

// Sets a TypeError: "WHAT must be EXPECTED, not TYPE".
void set_type_error(const char* what, const char* expected, PyObject* given) noexcept;

// An integer, also a bool or an object with __index__. No value and an exception set if it is none or does not fit.
std::optional<int64_t> int_argument(PyObject* object, const char* what) noexcept;
std::optional<uint64_t> uint_argument(PyObject* object, const char* what) noexcept;

}  // namespace kymo::python
