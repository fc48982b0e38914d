// range_push, range_pop and their like. While nothing records, each costs little more than the call of an empty C
// function.
#include "annotate/arguments.h"
#include "annotate/module.h"
#include "kymo/annotate.h"
#include "kymo/queue.h"
#include "kymo/session.h"
#include "record/annotate.h"
#include "support/arguments.h"
#include "support/errors.h"

namespace kymo::python {
namespace {

// The one argument of a function, given by position or by its name. Null: a TypeError is set.
PyObject* only_argument(const char* function, const char* name, PyObject* const* values, Py_ssize_t count,
                        PyObject* names) noexcept {
  const Py_ssize_t named = names != nullptr ? PyTuple_Size(names) : 0;
  if (count == 1 && named == 0) return values[0];
  if (count == 0 && named == 1) {
    PyObject* given = PyTuple_GetItem(names, 0);
    if (PyUnicode_CompareWithASCIIString(given, name) == 0) return values[0];
    PyErr_Format(PyExc_TypeError, "%s() has no argument %R; it takes one, %s", function, given, name);
    return nullptr;
  }
  PyErr_Format(PyExc_TypeError, "%s() takes one argument, %s, but %zd were given", function, name, count + named);
  return nullptr;
}

// The label of a message: the hot path of Text, without an object.
inline bool label_of(PyObject* message, kymo_label& label) noexcept {
  Py_ssize_t size = 0;
  label.name = PyUnicode_AsUTF8AndSize(message, &size);
  label.category = nullptr;
  label.name_length = static_cast<uint32_t>(size);
  label.category_length = label.colour = 0;
  return __builtin_expect(label.name != nullptr, 1);
}

// A depth as an int. Python keeps small ints forever, so nearly every depth is only a reference to one of these.
constexpr int kKnownDepths = 64;
PyObject* known_depths[kKnownDepths];  // from -1 on

inline PyObject* depth_object(int depth) noexcept {
  if (__builtin_expect(static_cast<unsigned>(depth + 1) >= kKnownDepths, 0)) return PyLong_FromLong(depth);
  PyObject* known = known_depths[depth + 1];
  Py_INCREF(known);
  return known;
}

__attribute__((noinline)) PyObject* push_unusual(PyObject* message) noexcept {
  PyErr_Clear();
  const Text text(message, "range_push: msg");
  return text.is_valid() ? PyLong_FromLong(kymo::range_push(text.view())) : nullptr;
}

PyObject* range_push(PyObject*, PyObject* const* values, Py_ssize_t count, PyObject* names) noexcept {
  PyObject* message = values[0];
  if (__builtin_expect(count != 1 || names != nullptr, 0)) {
    message = only_argument("range_push", "msg", values, count, names);
    if (message == nullptr) return nullptr;
  }
  // While nobody listens, not even the text is asked for: Python may have to encode it first.
  if (__builtin_expect(kymo::detail::receiver_bits() == 0 && PyUnicode_CheckExact(message), 1))
    return depth_object(record::push_unheard());
  kymo_label label;
  if (__builtin_expect(!label_of(message, label), 0)) return push_unusual(message);
  return depth_object(kymo_range_push_label(&label, nullptr, 0));
}

PyObject* range_pop(PyObject*, PyObject*) noexcept { return depth_object(kymo_range_pop()); }

PyObject* range_start(PyObject*, PyObject* const* values, Py_ssize_t count, PyObject* names) noexcept {
  PyObject* message = only_argument("range_start", "msg", values, count, names);
  if (message == nullptr) return nullptr;
  const Text text(message, "range_start: msg");
  if (!text.is_valid()) return nullptr;
  return PyLong_FromUnsignedLongLong(static_cast<uint64_t>(kymo::range_start(text.view())));
}

PyObject* range_end(PyObject*, PyObject* const* values, Py_ssize_t count, PyObject* names) noexcept {
  PyObject* given = only_argument("range_end", "range_id", values, count, names);
  if (given == nullptr) return nullptr;
  const auto id = uint_argument(given, "range_end: range_id");
  if (!id) return nullptr;
  kymo::range_end(RangeId{*id});
  Py_RETURN_NONE;
}

PyObject* mark(PyObject*, PyObject* const* values, Py_ssize_t count, PyObject* names) noexcept {
  PyObject* message = only_argument("mark", "msg", values, count, names);
  if (message == nullptr) return nullptr;
  const Text text(message, "mark: msg");
  if (!text.is_valid()) return nullptr;
  kymo::mark(text.view());
  Py_RETURN_NONE;
}

PyObject* counter(PyObject*, PyObject* const* values, Py_ssize_t count) noexcept {
  if (count != 2) {
    PyErr_Format(PyExc_TypeError, "counter() takes two arguments, name and value, but %zd were given", count);
    return nullptr;
  }
  const Text name(values[0], "counter: name");
  if (!name.is_valid()) return nullptr;
  if (PyIndex_Check(values[1])) {
    const auto value = int_argument(values[1], "counter: value");
    if (!value) return nullptr;
    kymo::counter(name.view(), *value);
    Py_RETURN_NONE;
  }
  const double value = PyFloat_AsDouble(values[1]);
  if (value == -1 && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    set_type_error("counter: value", "int or float", values[1]);
    return nullptr;
  }
  kymo::counter(name.view(), value);
  Py_RETURN_NONE;
}

PyObject* set_thread_name(PyObject*, PyObject* name) noexcept {
  const Text text(name, "set_thread_name: name");
  if (!text.is_valid()) return nullptr;
  return guarded([&]() -> PyObject* {
    std::string readable;  // a zero would end it
    for (const char c : text.view()) {
      if (c == '\0')
        readable += "\xEF\xBF\xBD";
      else
        readable += c;
    }
    kymo::set_thread_name(readable);
    Py_RETURN_NONE;
  });
}

PyObject* is_recording(PyObject*, PyObject*) noexcept { return PyBool_FromLong(kymo_is_recording()); }

// The steps of kymo.profiler are ranges "ProfilerStep#7", as torch.profiler names them.

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

template <class F>
PyCFunction as_function(F* function) noexcept {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef functions[] = {
    {"range_push", as_function(range_push), METH_FASTCALL | METH_KEYWORDS,
     "range_push($module, msg)\n--\n\n"
     "Opens a nested range on this thread, and returns its depth: 0 for the outermost.\n\n"
     "The depth is correct also while nothing records.\n\n"
     ">>> from kymo import nvtx\n>>> nvtx.range_push(\"step\")\n0\n>>> nvtx.range_pop()\n0\n"},
    {"range_pop", range_pop, METH_NOARGS,
     "range_pop($module)\n--\n\n"
     "Closes the innermost range of this thread, and returns its depth; -1 if none is open.\n\n"
     ">>> from kymo import nvtx\n>>> nvtx.range_pop()\n-1\n"},
    {"range_start", as_function(range_start), METH_FASTCALL | METH_KEYWORDS,
     "range_start($module, msg)\n--\n\n"
     "Opens a range that may end on another thread, and returns its number.\n\n"
     ">>> from kymo import nvtx\n>>> request = nvtx.range_start(\"request\")\n>>> nvtx.range_end(request)\n"},
    {"range_end", as_function(range_end), METH_FASTCALL | METH_KEYWORDS,
     "range_end($module, range_id)\n--\n\n"
     "Ends a range of range_start, on any thread.\n\n"
     "An unknown number is counted as a loss in the trace, and is not an error.\n"},
    {"mark", as_function(mark), METH_FASTCALL | METH_KEYWORDS, "mark($module, msg)\n--\n\nRecords an instant.\n"},
    {"counter", as_function(counter), METH_FASTCALL,
     "counter($module, name, value, /)\n--\n\n"
     "Records a value that changes over time.\n\n"
     ">>> import kymo\n>>> kymo.counter(\"queue\", 3)\n"},
    {"set_thread_name", set_thread_name, METH_O,
     "set_thread_name($module, name, /)\n--\n\nNames this thread in the trace. The first 47 bytes are kept.\n"},
    {"is_recording", is_recording, METH_NOARGS,
     "is_recording($module)\n--\n\n"
     "True while something is recorded in this process.\n\n"
     ">>> import kymo\n>>> kymo.is_recording()\nFalse\n"},
    {"ticks", ticks, METH_NOARGS, "ticks($module)\n--\n\nNow, on the clock of the trace.\n"},
    {"record_step", as_function(record_step), METH_FASTCALL,
     "record_step($module, number, start, /)\n--\n\nRecords a step of a profiler, from the tick `start` until now.\n"},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

int add_ranges(PyObject* module) noexcept {
  for (int i = 0; i < kKnownDepths; ++i)
    if ((known_depths[i] = PyLong_FromLong(i - 1)) == nullptr) return -1;
  return PyModule_AddFunctions(module, functions);
}

}  // namespace kymo::python
