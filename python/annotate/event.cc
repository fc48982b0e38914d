// kymo._annotate.Event: a prepared event with a name, a category (the domain), a colour and arguments, for the
// functions of PyPI's nvtx. Python code makes it once and records it often.
#include <memory>
#include <string>
#include <vector>

#include "annotate/module.h"
#include "kymo/annotate.h"
#include "record/annotate.h"
#include "support/arguments.h"
#include "support/errors.h"

namespace kymo::python {
namespace {

struct Prepared {
  std::string name, domain, category;
  std::string value_text;
  uint32_t colour = 0;
  uint16_t stack = 0;  // of its domain; 0: the pushed ranges of the thread
  std::vector<kymo_arg> args;

  kymo_label label() const noexcept {
    return {name.data(), domain.data(), static_cast<uint32_t>(name.size()), static_cast<uint32_t>(domain.size()),
            colour};
  }
  uint32_t count() const noexcept { return static_cast<uint32_t>(args.size()); }
};

struct EventObject {
  PyObject_HEAD Prepared* prepared;
};

Prepared& prepared_of(PyObject* self) noexcept { return *reinterpret_cast<EventObject*>(self)->prepared; }

// The name of an event with arguments is read as a format: a brace in it means itself.
std::string with_escaped_braces(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '{' || c == '}') escaped += c;
    escaped += c;
  }
  return escaped;
}

std::string text_of(PyObject* object, const char* what) {
  const Text text(object, what);
  if (!text.is_valid()) throw PythonErrorSet{};
  return std::string(text.view());
}

void add_category(Prepared& prepared, PyObject* category) {
  if (category == Py_None) return;
  if (PyUnicode_Check(category)) {
    prepared.category = text_of(category, "category");
    prepared.args.push_back(kymo::arg("category", std::string_view(prepared.category)));
    return;
  }
  const auto number = int_argument(category, "category");
  if (!number) throw PythonErrorSet{};
  prepared.args.push_back(kymo::arg("category", *number));
}

void add_payload(Prepared& prepared, PyObject* payload) {
  if (payload == Py_None) return;
  if (PyFloat_Check(payload)) {
    prepared.args.push_back(kymo::arg("value", PyFloat_AsDouble(payload)));
  } else if (PyIndex_Check(payload)) {
    const auto number = int_argument(payload, "payload");
    if (!number) throw PythonErrorSet{};
    prepared.args.push_back(kymo::arg("value", *number));
  } else {  // lists, arrays, bytes
    const Owned text = checked(PyObject_Str(payload));
    prepared.value_text = text_of(text.get(), "payload");
    prepared.args.push_back(kymo::arg("value", std::string_view(prepared.value_text)));
  }
}

// Event(message, domain, stack, colour, category, payload)
PyObject* create(PyTypeObject* type, PyObject* args, PyObject*) noexcept {
  return guarded([&]() -> PyObject* {
    PyObject *message, *domain, *category, *payload;
    unsigned short stack = 0;
    unsigned colour = 0;
    if (!PyArg_ParseTuple(args, "OOHIOO", &message, &domain, &stack, &colour, &category, &payload))
      throw PythonErrorSet{};
    auto made = std::make_unique<Prepared>();
    made->name = text_of(message, "message");
    made->domain = text_of(domain, "domain");
    made->stack = stack;
    made->colour = colour;
    add_category(*made, category);
    add_payload(*made, payload);
    if (made->count() != 0) made->name = with_escaped_braces(made->name);
    const auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
    Owned self = checked(allocate(type, 0));
    reinterpret_cast<EventObject*>(self.get())->prepared = made.release();
    return self.release();
  });
}

void deallocate(PyObject* self) noexcept {
  PyTypeObject* type = Py_TYPE(self);
  delete reinterpret_cast<EventObject*>(self)->prepared;
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

PyObject* push(PyObject* self, PyObject*) noexcept {
  const Prepared& event = prepared_of(self);
  const kymo_label label = event.label();
  if (event.stack == 0)
    kymo_range_push_label(&label, event.args.data(), event.count());
  else
    record::begin_on_stack(label, event.args.data(), event.count(), event.stack, kymo::detail::receiver_bits());
  Py_RETURN_NONE;
}

PyObject* pop(PyObject* self, PyObject*) noexcept {
  if (prepared_of(self).stack == 0)
    kymo_range_pop();
  else
    record::end_on_stack(prepared_of(self).stack, kymo::detail::receiver_bits());
  Py_RETURN_NONE;
}

PyObject* enter(PyObject* self, PyObject*) noexcept {
  Py_DECREF(push(self, nullptr));
  Py_INCREF(self);
  return self;
}

PyObject* leave(PyObject* self, PyObject* const*, Py_ssize_t) noexcept { return pop(self, nullptr); }

PyObject* start(PyObject* self, PyObject*) noexcept {
  const Prepared& event = prepared_of(self);
  const kymo_label label = event.label();
  return PyLong_FromUnsignedLongLong(kymo_range_start_label(&label, event.args.data(), event.count()));
}

PyObject* mark(PyObject* self, PyObject*) noexcept {
  const Prepared& event = prepared_of(self);
  const kymo_label label = event.label();
  if (kymo::detail::receiver_bits() != 0) kymo_record(KYMO_INSTANT, &label, event.args.data(), event.count(), 0);
  Py_RETURN_NONE;
}

// pop_stack(stack): for pop_range, which has no event.
PyObject* pop_stack(PyObject*, PyObject* number) noexcept {
  const auto stack = uint_argument(number, "stack");
  if (!stack) return nullptr;
  if (*stack == 0)
    kymo_range_pop();
  else
    record::end_on_stack(static_cast<uint16_t>(*stack), kymo::detail::receiver_bits());
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"__enter__", enter, METH_NOARGS, "The same as push()."},
    {"__exit__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(leave)), METH_FASTCALL,
     "The same as pop()."},
    {"push", push, METH_NOARGS, "Opens a nested range of its domain."},
    {"pop", pop, METH_NOARGS, "Closes the innermost range of its domain."},
    {"start", start, METH_NOARGS, "Opens a range that may end on another thread, and returns its number."},
    {"mark", mark, METH_NOARGS, "Records an instant."},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(&create)},
    {Py_tp_dealloc, reinterpret_cast<void*>(&deallocate)},
    {Py_tp_methods, methods},
    {Py_tp_doc, const_cast<char*>("Event(message, domain, stack, colour, category, payload): a prepared event.")},
    {0, nullptr},
};

PyType_Spec specification = {"kymo._annotate.Event", sizeof(EventObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, slots};

PyMethodDef functions[] = {
    {"pop_stack", pop_stack, METH_O, "Closes the innermost range of a stack."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

int add_event(PyObject* module) noexcept {
  ModuleState& state = state_of(module);
  state.event_type = reinterpret_cast<PyTypeObject*>(PyType_FromModuleAndSpec(module, &specification, nullptr));
  if (state.event_type == nullptr) return -1;
  if (PyModule_AddObjectRef(module, "Event", reinterpret_cast<PyObject*>(state.event_type)) < 0 ||
      PyModule_AddIntConstant(module, "FIRST_STACK", record::kFirstLibraryStack) < 0 ||
      PyModule_AddIntConstant(module, "LAST_STACK", record::kLastLibraryStack) < 0)
    return -1;
  return PyModule_AddFunctions(module, functions);
}

}  // namespace kymo::python
