// An owned reference to a Python object: released when it goes out of scope.
//
//   Owned list(PyList_New(0));          // takes over a new reference
//   if (!list) return nullptr;          // null: a Python exception is set
//   return list.release();              // gives it to the caller
//
// Everything here needs the GIL.
#pragma once

#include <Python.h>

#include <utility>

namespace kymo::python {

class Owned {
 public:
  Owned() noexcept = default;
  explicit Owned(PyObject* taken) noexcept : object_(taken) {}
  static Owned share(PyObject* borrowed) noexcept {
    Py_XINCREF(borrowed);
    return Owned(borrowed);
  }
  Owned(Owned&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() { Py_XDECREF(object_); }

  PyObject* get() const noexcept { return object_; }
  PyObject* release() noexcept { return std::exchange(object_, nullptr); }
  explicit operator bool() const noexcept { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

// Without the GIL until the end of the scope, for calls that wait or take long. Nothing of Python may be used in it.
class WithoutGil {
 public:
  WithoutGil() noexcept : state_(PyEval_SaveThread()) {}
  ~WithoutGil() { PyEval_RestoreThread(state_); }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

// With the GIL until the end of the scope, on any thread: for calls from Kymo's own threads into Python.
class WithGil {
 public:
  WithGil() noexcept : state_(PyGILState_Ensure()) {}
  ~WithGil() { PyGILState_Release(state_); }
  WithGil(const WithGil&) = delete;
  WithGil& operator=(const WithGil&) = delete;

 private:
  PyGILState_STATE state_;
};

}  // namespace kymo::python
