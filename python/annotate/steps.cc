#include "annotate/steps.h"

#include "kymo/annotate.h"
#include "kymo/queue.h"
#include "support/arguments.h"

namespace kymo::python {
namespace {

PyObject* ticks(PyObject*, PyObject*) noexcept { return PyLong_FromUnsignedLongLong(kymo_ticks()); }

// One record at its end: the ranges of the program may be open across the begin or the end of a step, and stay whole.
PyObject* record_step(PyObject*, PyObject* const* values, Py_ssize_t count) noexcept {
  if (count != 2) {
    PyErr_Format(PyExc_TypeError, "record_step() takes a number and its first tick, but %zd were given", count);
    return nullptr;
  }
  const auto number = uint_argument(values[0], "record_step: number");
  const auto start = number ? uint_argument(values[1], "record_step: start") : std::nullopt;
  if (!start) return nullptr;
  constexpr kymo::Label kName("ProfilerStep#{}", "user_annotation");
  const kymo_arg arg = kymo::arg(nullptr, *number);
  kymo_span(&kName, &arg, 1, *start, 0);
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"ticks", ticks, METH_NOARGS, "ticks($module)\n--\n\nNow, on the clock of the trace.\n"},
    {"record_step", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(record_step)), METH_FASTCALL,
     "record_step($module, number, start, /)\n--\n\nRecords a step of a profiler, from the tick `start` until now.\n"},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyMethodDef* step_functions() noexcept { return functions; }

}  // namespace kymo::python
