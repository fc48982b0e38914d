// The steps of kymo.profiler as ranges "ProfilerStep#7", as torch.profiler names them.
#pragma once

#include <Python.h>

namespace kymo::python {

PyMethodDef* step_functions() noexcept;

}  // namespace kymo::python
