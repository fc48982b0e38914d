// `with kymo.nvtx.range("step {}", i)`: a context manager, and a decorator.
//
// The arguments are kept and not formatted: while nothing records, nobody looks at them. The object comes from a list
// of free ones, so a range allocates nothing in the usual case.
#include "annotate/arguments.h"
#include "annotate/module.h"
#include "kymo/annotate.h"
#include "support/arguments.h"

namespace kymo::python {

// Arguments that fit here need no tuple.
constexpr Py_ssize_t kInlineArguments = 4;

struct ScopedRange {
  PyObject_HEAD PyObject* message;  // a str; `label` points into it, or into `escaped`
  PyObject* escaped;                // bytes, for a message that UTF-8 cannot express; else null
  kymo_label label;
  PyObject* arguments[kInlineArguments];
  Py_ssize_t count;   // of all arguments, the named ones last
  PyObject* names;    // of the last ones, as a tuple; null: none has a name
  PyObject* more;     // all arguments as a tuple, if there are more than fit; else null
  ScopedRange* next;  // in the list of free ones
};

namespace {

// Ranges that were used and are free: most programs need only as many as their ranges nest. They belong to the process
// and stay until its end, because a range may be dropped after its module and its type. The GIL protects the list: all
// interpreters that can load the module share one.
constexpr uint32_t kMostFreeRanges = 64;
ScopedRange* free_ranges = nullptr;
uint32_t free_range_count = 0;

PyObject* argument_of(ScopedRange& range, Py_ssize_t i) noexcept {
  return range.more != nullptr ? PyTuple_GetItem(range.more, i) : range.arguments[i];
}

// For the garbage collector: what may be part of a cycle. The message stays, because the label points into it.
int clear(PyObject* self) noexcept {
  auto& range = *reinterpret_cast<ScopedRange*>(self);
  Py_CLEAR(range.names);
  Py_CLEAR(range.more);
  for (Py_ssize_t i = 0; i < kInlineArguments && i < range.count; ++i) Py_CLEAR(range.arguments[i]);
  range.count = 0;
  return 0;
}

int traverse(PyObject* self, visitproc visit, void* arg) noexcept {
  auto& range = *reinterpret_cast<ScopedRange*>(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(range.more);
  for (Py_ssize_t i = 0; i < kInlineArguments && i < range.count; ++i) Py_VISIT(range.arguments[i]);
  return 0;
}

void deallocate(PyObject* self) noexcept {
  auto* range = reinterpret_cast<ScopedRange*>(self);
  PyTypeObject* type = Py_TYPE(self);
  if (range->count != 0) {
    PyObject_GC_UnTrack(self);  // no effect if it is not tracked
    clear(self);
  }
  Py_CLEAR(range->message);
  Py_CLEAR(range->escaped);
  if (free_range_count < kMostFreeRanges) {
    range->next = free_ranges;
    free_ranges = range;
    ++free_range_count;
  } else {
    PyObject_GC_Del(range);
  }
  Py_DECREF(type);
}

ScopedRange* take_free(PyTypeObject* type) noexcept {
  ScopedRange* range = free_ranges;
  if (__builtin_expect(range != nullptr, 1)) {
    free_ranges = range->next;
    --free_range_count;
    PyObject_Init(reinterpret_cast<PyObject*>(range), type);
    return range;
  }
  range = PyObject_GC_New(ScopedRange, type);
  if (range == nullptr) return nullptr;
  range->message = range->escaped = range->names = range->more = nullptr;
  for (PyObject*& argument : range->arguments) argument = nullptr;
  range->count = 0;
  return range;
}

// Values that refer to no other objects. A range with only these is never part of a cycle.
bool is_plain(PyObject* value) noexcept {
  return PyLong_CheckExact(value) || PyUnicode_CheckExact(value) || PyFloat_CheckExact(value) || value == Py_None ||
         value == Py_True || value == Py_False;
}

bool keep_arguments(ScopedRange& range, PyObject* const* values, Py_ssize_t count, PyObject* names) noexcept {
  bool is_tracked = false;
  if (count > kInlineArguments) {
    range.more = PyTuple_New(count);
    if (range.more == nullptr) return false;
    for (Py_ssize_t i = 0; i < count; ++i) {
      Py_INCREF(values[i]);
      PyTuple_SetItem(range.more, i, values[i]);
    }
    is_tracked = true;
  } else {
    for (Py_ssize_t i = 0; i < count; ++i) {
      Py_INCREF(values[i]);
      range.arguments[i] = values[i];
      is_tracked = is_tracked || !is_plain(values[i]);
    }
  }
  range.count = count;
  Py_XINCREF(names);
  range.names = names;
  if (is_tracked) PyObject_GC_Track(&range);
  return true;
}

__attribute__((noinline)) bool keep_unusual_message(ScopedRange& range) noexcept {
  PyErr_Clear();
  if (!PyUnicode_Check(range.message)) {
    set_type_error("range: msg", "str", range.message);
    return false;
  }
  range.escaped = PyUnicode_AsEncodedString(range.message, "utf-8", "backslashreplace");
  char* bytes = nullptr;
  Py_ssize_t size = 0;
  if (range.escaped == nullptr || PyBytes_AsStringAndSize(range.escaped, &bytes, &size) != 0) return false;
  range.label = {bytes, nullptr, static_cast<uint32_t>(size), 0, 0};
  return true;
}

// range(msg, *args, **kwargs)
PyObject* make_range(PyObject* module, PyObject* const* values, Py_ssize_t count, PyObject* names) noexcept {
  PyObject* message = nullptr;
  Owned other_names;
  if (count != 0) {
    message = values[0];
    ++values;
    count += (names != nullptr ? PyTuple_Size(names) : 0) - 1;
  } else if (names != nullptr && PyTuple_Size(names) == 1 &&
             PyUnicode_CompareWithASCIIString(PyTuple_GetItem(names, 0), "msg") == 0) {
    message = values[0];
    names = nullptr;
  } else {
    PyErr_SetString(PyExc_TypeError, "range() needs a message: range(\"step {}\", i)");
    return nullptr;
  }
  ScopedRange* range = take_free(state_of(module).range_type);
  if (range == nullptr) return nullptr;
  Owned made(reinterpret_cast<PyObject*>(range));
  Py_INCREF(message);
  range->message = message;
  Py_ssize_t size = 0;
  range->label.name = PyUnicode_AsUTF8AndSize(message, &size);
  range->label.name_length = static_cast<uint32_t>(size);
  range->label.category = nullptr;
  range->label.category_length = range->label.colour = 0;
  if (__builtin_expect(range->label.name == nullptr, 0) && !keep_unusual_message(*range)) return nullptr;
  if (count != 0 && !keep_arguments(*range, values, count, names)) return nullptr;
  return made.release();
}

// The text as Python formats it. Null: it cannot, and there is no exception if it was an ordinary one.
Owned formatted(ScopedRange& range) noexcept {
  const Py_ssize_t named = range.names != nullptr ? PyTuple_Size(range.names) : 0;
  const Py_ssize_t positional = range.count - named;
  const Owned format(PyObject_GetAttrString(range.message, "format"));
  const Owned args(PyTuple_New(positional)), keywords(PyDict_New());
  Owned text;
  if (format && args && keywords) {
    for (Py_ssize_t i = 0; i < positional; ++i)
      PyTuple_SetItem(args.get(), i, Owned::share(argument_of(range, i)).release());
    for (Py_ssize_t i = 0; i < named; ++i)
      PyDict_SetItem(keywords.get(), PyTuple_GetItem(range.names, i), argument_of(range, positional + i));
    text = Owned(PyObject_Call(format.get(), args.get(), keywords.get()));
  }
  return text;
}

// Calls `record` with the label and the arguments of the range. False: an exception is set that must be raised.
template <class Record>
__attribute__((noinline)) bool with_arguments(ScopedRange& range, Record&& record) noexcept {
  EventArguments arguments;
  const Places places = places_of({range.label.name, range.label.name_length});
  const Py_ssize_t named = range.names != nullptr ? PyTuple_Size(range.names) : 0;
  bool stored = places != Places::Python;
  for (Py_ssize_t i = 0; stored && i < range.count; ++i) {
    const Py_ssize_t name = i - (range.count - named);
    stored = arguments.add(argument_of(range, i), name >= 0 ? PyTuple_GetItem(range.names, name) : nullptr, places);
  }
  if (stored) {
    record(range.label, arguments.data(), arguments.count());
    return true;
  }
  if (!clear_ordinary_exception()) return false;
  const Owned text = formatted(range);
  if (text) {
    const Text bytes(text.get(), "range: msg");
    if (bytes.is_valid()) {
      record(kymo::Label(bytes.view()), nullptr, 0);
      return true;
    }
  }
  // A message that does not fit its arguments must not end the program only because it is recorded.
  if (!clear_ordinary_exception()) return false;
  record(range.label, nullptr, 0);
  return true;
}

PyObject* enter(PyObject* self, PyObject*) noexcept {
  auto& range = *reinterpret_cast<ScopedRange*>(self);
  if (__builtin_expect(range.count != 0 && kymo::detail::receiver_bits() != 0, 0)) {
    const bool pushed = with_arguments(range, [](const kymo_label& label, const kymo_arg* args, uint32_t count) {
      kymo_range_push_label(&label, args, count);
    });
    if (!pushed) return nullptr;
  } else {
    kymo_range_push_label(&range.label, nullptr, 0);
  }
  Py_INCREF(self);
  return self;
}

PyObject* leave(PyObject*, PyObject* const*, Py_ssize_t) noexcept {
  kymo_range_pop();
  Py_RETURN_NONE;
}

PyObject* start(PyObject* self, PyObject*) noexcept {
  auto& range = *reinterpret_cast<ScopedRange*>(self);
  uint64_t id = 0;
  const auto start_range = [&id](const kymo_label& label, const kymo_arg* args, uint32_t count) {
    id = kymo_range_start_label(&label, args, count);
  };
  if (!with_arguments(range, start_range)) return nullptr;
  return PyLong_FromUnsignedLongLong(id);
}

// As a decorator: kymo.decorating.wrap(self, function).
PyObject* call(PyObject* self, PyObject* args, PyObject* keywords) noexcept {
  if (PyTuple_Size(args) != 1 || (keywords != nullptr && PyDict_Size(keywords) != 0)) {
    PyErr_SetString(PyExc_TypeError, "a range is called with one function, as a decorator: @range(\"name\")");
    return nullptr;
  }
  const Owned module(PyImport_ImportModule("kymo.decorating"));
  if (!module) return nullptr;
  return PyObject_CallMethod(module.get(), "wrap", "OO", self, PyTuple_GetItem(args, 0));
}

PyObject* represent(PyObject* self) noexcept {
  return PyUnicode_FromFormat("kymo.nvtx.range(%R)", reinterpret_cast<ScopedRange*>(self)->message);
}

PyMethodDef methods[] = {
    {"__enter__", enter, METH_NOARGS, "Opens the range."},
    {"__exit__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(leave)), METH_FASTCALL,
     "Closes the range, also after an exception."},
    {"start", start, METH_NOARGS, "start($self)\n--\n\nOpens it as range_start does, and returns its number."},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(&deallocate)},
    {Py_tp_traverse, reinterpret_cast<void*>(&traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(&clear)},
    {Py_tp_call, reinterpret_cast<void*>(&call)},
    {Py_tp_repr, reinterpret_cast<void*>(&represent)},
    {Py_tp_methods, methods},
    {Py_tp_doc, const_cast<char*>("A range from here to the end of a with statement, or around a function.")},
    {0, nullptr},
};

PyType_Spec specification = {
    "kymo._annotate.Range", sizeof(ScopedRange), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE, slots};

PyMethodDef functions[] = {
    {"range", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(make_range)), METH_FASTCALL | METH_KEYWORDS,
     "range($module, msg, /, *args, **kwargs)\n--\n\n"
     "A range from here to the end of a with statement, or around a function.\n\n"
     "The arguments fill the places of the message, as in str.format. They are stored as they are, and readers\n"
     "format them, so they cost nothing while nothing records.\n\n"
     ">>> from kymo import nvtx\n"
     ">>> with nvtx.range(\"step {}\", 7):\n...     pass\n"
     ">>> @nvtx.range(\"double\")\n... def double(x):\n...     return 2 * x\n>>> double(4)\n8\n"},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

int add_scoped_range(PyObject* module) noexcept {
  ModuleState& state = state_of(module);
  state.range_type = reinterpret_cast<PyTypeObject*>(PyType_FromModuleAndSpec(module, &specification, nullptr));
  if (state.range_type == nullptr) return -1;
  if (PyModule_AddObjectRef(module, "Range", reinterpret_cast<PyObject*>(state.range_type)) < 0) return -1;
  return PyModule_AddFunctions(module, functions);
}

}  // namespace kymo::python
