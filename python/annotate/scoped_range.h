// `with kymo.nvtx.range("step {}", i)`: a context manager, and a decorator.
//
// The arguments are kept and not formatted: while nothing records, nobody looks at them. The object comes from a list
// of free ones, so a range allocates nothing in the usual case.
#pragma once

#include <Python.h>

#include "annotate/state.h"

namespace kymo::python {

// Adds the type and the function `range` to the module.
int add_scoped_range(PyObject* module) noexcept;

}  // namespace kymo::python
