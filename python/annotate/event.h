// kymo._annotate.Event: a prepared event with a name, a category (the domain), a colour and arguments, for the
// functions of PyPI's nvtx. Python code makes it once and records it often.
#pragma once

#include <Python.h>

namespace kymo::python {

int add_event(PyObject* module) noexcept;

}  // namespace kymo::python
