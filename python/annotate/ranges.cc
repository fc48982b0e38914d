#include "annotate/ranges.h"

#include "kymo/annotate.h"
#include "support/arguments.h"

namespace kymo::python {
namespace {

PyObject* range_push(PyObject*, PyObject* message) noexcept {
  const Text text(message, "range_push: msg");
  if (!text.is_valid()) return nullptr;
  return PyLong_FromLong(kymo::range_push(text.view()));
}

PyObject* range_pop(PyObject*, PyObject*) noexcept { return PyLong_FromLong(kymo::range_pop()); }

PyMethodDef functions[] = {
    {"range_push", range_push, METH_O, "range_push(msg) -> depth"},
    {"range_pop", range_pop, METH_NOARGS, "range_pop() -> depth"},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyMethodDef* range_functions() noexcept { return functions; }

}  // namespace kymo::python
