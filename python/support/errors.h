// Exceptions of C++ as exceptions of Python: kymo::Error becomes kymo.Error, and so on (python/kymo/errors.py).
//
//   PyObject* close(PyObject* self, PyObject*) {
//     return guarded([&]() -> PyObject* {
//       WithoutGil free;
//       session_of(self).close();     // throws kymo::Error
//       ...
//     });
//   }
#pragma once

#include <Python.h>

#include <utility>

#include "support/owned.h"

namespace kymo::python {

// A Python exception is set already: unwinds to the nearest guarded(), which leaves it as it is.
struct PythonErrorSet {};

// Sets the Python exception for the C++ exception that is being handled. Call it inside `catch (...)`, with the GIL.
void set_current_exception() noexcept;

// Sets the exception kymo.NAME with this text: "Error", "InvalidArgument", "NotAvailable", ...
void set_error(const char* name, const char* text) noexcept;

// Calls `f`. If it throws, sets the Python exception and returns null.
template <class F>
PyObject* guarded(F&& f) noexcept {
  try {
    return std::forward<F>(f)();
  } catch (...) {
    set_current_exception();
    return nullptr;
  }
}

// Throws PythonErrorSet if `object` is null: for a chain of calls of Python's API.
inline Owned checked(PyObject* object) {
  if (object == nullptr) throw PythonErrorSet{};
  return Owned(object);
}
inline void check(int status) {
  if (status < 0) throw PythonErrorSet{};
}

}  // namespace kymo::python
