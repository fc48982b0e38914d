// An object that the interpreter calls as directly as it can: by the vectorcall protocol, without the checks that it
// makes around a function of a module. sys.monitoring calls one for every event.
#pragma once

#include <Python.h>

namespace kymo::python {

// The arguments are not counted exactly: the top bit of `count` has a meaning of its own, so remove it with
// `argument_count`. `names` is null if no argument has a name.
using DirectCall = PyObject* (*)(PyObject* self, PyObject* const* values, size_t count, PyObject* names);

inline size_t argument_count(size_t count) noexcept { return count & ~(size_t{1} << (8 * sizeof(size_t) - 1)); }

struct NamedCallback {
  const char* name;
  DirectCall function;
};

// Adds objects that can be called to the module. -1: an exception is set.
int add_callbacks(PyObject* module, const NamedCallback* first, size_t count) noexcept;

}  // namespace kymo::python
