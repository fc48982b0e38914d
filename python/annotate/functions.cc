// Every Python function as a range: the hooks of the interpreter.
//
// From Python 3.12 on, Python code registers the module's objects on_start, on_end, … with sys.monitoring. Before, the
// interpreter calls one C function for each call and return (PyEval_SetProfile). That function is not in the limited
// API, so it is looked up at run time.
//
// The ranges have a stack of their own: annotations that a function pushes and another one pops do not disturb them.
#include <Python.h>
#include <dlfcn.h>
#include <structmember.h>

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "annotate/code_sites.h"
#include "annotate/module.h"
#include "annotate/tasks.h"
#include "kymo/annotate.h"
#include "kymo/error.h"
#include "record/annotate.h"
#include "support/arguments.h"
#include "support/errors.h"

namespace kymo::python {
namespace {

// ---- Callbacks -----------------------------------------------------------------------------------------------------

// An object that the interpreter calls as directly as it can: by the vectorcall protocol, without the checks that it
// makes around a function of a module. sys.monitoring calls one for every event.
//
// The arguments are not counted exactly: the top bit of `count` has a meaning of its own, so remove it with
// `argument_count`. `names` is null if no argument has a name.
using DirectCall = PyObject* (*)(PyObject* self, PyObject* const* values, size_t count, PyObject* names);

size_t argument_count(size_t count) noexcept { return count & ~(size_t{1} << (8 * sizeof(size_t) - 1)); }

struct NamedCallback {
  const char* name;
  DirectCall function;
};

// Py_TPFLAGS_HAVE_VECTORCALL, which the limited API names only from 3.12 on. The bit is older.
constexpr unsigned int kHasVectorcall = 1u << 11;

struct Callback {
  PyObject_HEAD DirectCall function;
};

void delete_callback(PyObject* self) noexcept {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}

// For callers that do not know the protocol.
PyObject* call_callback(PyObject* self, PyObject* args, PyObject*) noexcept {
  constexpr Py_ssize_t kMost = 8;
  PyObject* values[kMost];
  const Py_ssize_t count = PyTuple_Size(args);
  if (count > kMost) {
    PyErr_Format(PyExc_TypeError, "a callback takes at most %zd arguments, but %zd were given", kMost, count);
    return nullptr;
  }
  for (Py_ssize_t i = 0; i < count; ++i) values[i] = PyTuple_GetItem(args, i);
  return reinterpret_cast<Callback*>(self)->function(self, values, static_cast<size_t>(count), nullptr);
}

PyMemberDef callback_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Callback, function), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};
PyType_Slot callback_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(&delete_callback)},
    {Py_tp_call, reinterpret_cast<void*>(&call_callback)},
    {Py_tp_members, callback_members},
    {Py_tp_doc, const_cast<char*>("A function for hooks of the interpreter.")},
    {0, nullptr},
};
PyType_Spec callback_specification = {
    "kymo._annotate.Callback", sizeof(Callback), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE | kHasVectorcall, callback_slots};

// Adds objects that can be called to the module. -1: an exception is set.
int add_callbacks(PyObject* module, std::span<const NamedCallback> callbacks) noexcept {
  const Owned type(PyType_FromSpec(&callback_specification));
  if (!type) return -1;
  for (const NamedCallback& callback : callbacks) {
    auto* made = PyObject_New(Callback, reinterpret_cast<PyTypeObject*>(type.get()));
    const Owned object(reinterpret_cast<PyObject*>(made));
    if (!object) return -1;
    made->function = callback.function;
    if (PyModule_AddObjectRef(module, callback.name, object.get()) < 0) return -1;
  }
  return 0;
}

// ---- Functions as ranges -------------------------------------------------------------------------------------------

constexpr uint16_t kStack = record::kFunctionStack;

// One tracer for the process: the hooks are for one interpreter, the first that asks for them.
CodeSites* sites = nullptr;
bool with_c_functions = false;
PyObject* active_threads = nullptr;  // threading._active

struct ThreadState {
  uint32_t open = 0;        // ranges of functions that this thread has opened since the tracing began
  uint32_t coroutines = 0;  // open ones of coroutines
  uint32_t tracing = 0;     // the tracing that the counts belong to
  uint64_t step = 0;        // the range of the task's step that runs; 0: none
  uint32_t name_tries = 0;  // looks for the name of the thread, which it gets shortly after its start
};
// Initial-exec: one instruction to access, for a few bytes that every process has room for.
thread_local constinit ThreadState thread_state __attribute__((tls_model("initial-exec")));
uint32_t tracing_number = 0;

constexpr uint32_t kMostNameTries = 16;

// Gives the thread the name that it has in Python.
__attribute__((noinline)) void name_thread(ThreadState& state) noexcept {
  ++state.name_tries;
  if (active_threads == nullptr) return;
  const Owned ident(PyLong_FromUnsignedLong(PyThread_get_thread_ident()));
  PyObject* thread = ident ? PyDict_GetItemWithError(active_threads, ident.get()) : nullptr;
  const Owned name(thread != nullptr ? PyObject_GetAttrString(thread, "_name") : nullptr);
  if (name && PyUnicode_Check(name.get())) {
    const Text text(name.get(), "name");
    if (text.is_valid() && text.view() != "MainThread") kymo_set_thread_name(std::string(text.view()).c_str());
    state.name_tries = kMostNameTries;
  }
  PyErr_Clear();
}

ThreadState& this_thread() noexcept {
  ThreadState& state = thread_state;
  if (__builtin_expect(state.tracing != tracing_number, 0)) state = {0, 0, tracing_number, 0, 0};
  return state;
}

inline void begin(PyObject* code) noexcept {
  CodeSite* site = sites->of_code(code);
  if (site == nullptr || site->is_ignored) return;
  ThreadState& state = this_thread();
  if (__builtin_expect(state.name_tries < kMostNameTries, 0)) name_thread(state);
  if (__builtin_expect(site->is_coroutine, 0) && state.coroutines++ == 0) state.step = begin_step();
  ++state.open;
  record::begin_site_on_stack(site->site, kStack);
}

inline void end(PyObject* code) noexcept {
  const CodeSite* site = sites->of_code(code);
  if (site == nullptr || site->is_ignored) return;
  ThreadState& state = this_thread();
  if (state.open == 0) return;  // it began before the tracing
  --state.open;
  record::end_site_on_stack(kStack);
  if (__builtin_expect(site->is_coroutine, 0) && state.coroutines != 0 && --state.coroutines == 0)
    end_step(std::exchange(state.step, 0));
}

// Functions and methods that are written in C. sys.monitoring reports calls of all other objects too.
bool is_builtin(PyObject* function) noexcept {
  return PyCFunction_Check(function) || Py_IS_TYPE(function, &PyMethodDescr_Type);
}

// `code` is the caller's.
void begin_builtin(PyObject* code, PyObject* function) noexcept {
  if (!kymo::detail::recording() || !is_builtin(function)) return;
  const CodeSite* caller = sites->of_code(code);
  if (caller == nullptr || caller->is_ignored) return;
  CodeSite* site = sites->of_builtin(function);
  if (site == nullptr || site->is_ignored) return;
  ++this_thread().open;
  record::begin_site_on_stack(site->site, kStack);
}

void end_builtin(PyObject* code, PyObject* function) noexcept {
  if (!kymo::detail::recording() || !is_builtin(function)) return;
  const CodeSite* caller = sites->of_code(code);
  if (caller == nullptr || caller->is_ignored) return;
  const CodeSite* site = sites->of_builtin(function);
  ThreadState& state = this_thread();
  if (site == nullptr || site->is_ignored || state.open == 0) return;
  --state.open;
  record::end_site_on_stack(kStack);
}

PyObject* none() noexcept {
  Py_INCREF(Py_None);
  return Py_None;
}

// ---- sys.monitoring ------------------------------------------------------------------------------------------------

PyObject* on_start(PyObject*, PyObject* const* values, size_t count, PyObject*) noexcept {
  if (sites != nullptr && argument_count(count) > 0) begin(values[0]);
  return none();
}
PyObject* on_end(PyObject*, PyObject* const* values, size_t count, PyObject*) noexcept {
  if (sites != nullptr && argument_count(count) > 0) end(values[0]);
  return none();
}
// code, offset, callable, argument
PyObject* on_call(PyObject*, PyObject* const* values, size_t count, PyObject*) noexcept {
  if (sites != nullptr && argument_count(count) > 2) begin_builtin(values[0], values[2]);
  return none();
}
PyObject* on_c_return(PyObject*, PyObject* const* values, size_t count, PyObject*) noexcept {
  if (sites != nullptr && argument_count(count) > 2) end_builtin(values[0], values[2]);
  return none();
}

constexpr NamedCallback kCallbacks[] = {
    {"on_start", on_start}, {"on_end", on_end}, {"on_call", on_call}, {"on_c_return", on_c_return}};

// ---- PyEval_SetProfile ---------------------------------------------------------------------------------------------

using ProfileFunction = int (*)(PyObject*, PyFrameObject*, int, PyObject*);
using SetProfile = void (*)(ProfileFunction, PyObject*);

// Numbers of the C API, which are the same in all versions.
constexpr int kCall = 0, kReturn = 3, kCCall = 4, kCException = 5, kCReturn = 6;

int on_event(PyObject*, PyFrameObject* frame, int what, PyObject* argument) noexcept {
  if (sites == nullptr) return 0;
  if (what != kCall && what != kReturn && (!with_c_functions || argument == nullptr)) return 0;
  auto* code = reinterpret_cast<PyObject*>(PyFrame_GetCode(frame));
  if (what == kCall)
    begin(code);
  else if (what == kReturn)
    end(code);
  else if (what == kCCall)
    begin_builtin(code, argument);
  else if (what == kCReturn || what == kCException)
    end_builtin(code, argument);
  Py_DECREF(code);
  return 0;
}

template <class Function>
Function of_interpreter(const char* name) noexcept {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

// profile_thread(on): for the calling thread. sys.getprofile() is this module then.
PyObject* profile_thread(PyObject* module, PyObject* on) noexcept {
  const auto set_profile = of_interpreter<SetProfile>("PyEval_SetProfile");
  if (set_profile == nullptr) {
    set_error("NotAvailable", "this interpreter has no PyEval_SetProfile: functions cannot be recorded");
    return nullptr;
  }
  set_profile(on == Py_True ? on_event : nullptr, on == Py_True ? module : nullptr);
  return none();
}

// profile_other_threads(on): the threads that run already. Before 3.12 no function of the interpreter does this, so
// their thread states are made current one after the other, which is what that function does.
PyObject* profile_other_threads(PyObject* module, PyObject* on) noexcept {
  using Head = PyThreadState* (*)(PyInterpreterState*);
  using Next = PyThreadState* (*)(PyThreadState*);
  using SetOf = int (*)(PyThreadState*, ProfileFunction, PyObject*);
  const auto head = of_interpreter<Head>("PyInterpreterState_ThreadHead");
  const auto next = of_interpreter<Next>("PyThreadState_Next");
  const auto set_of = of_interpreter<SetOf>("_PyEval_SetProfile");
  if (head == nullptr || next == nullptr || set_of == nullptr) return none();
  PyThreadState* const own = PyThreadState_Get();
  for (PyThreadState* one = head(PyInterpreterState_Get()); one != nullptr; one = next(one))
    if (one != own && set_of(one, on == Py_True ? on_event : nullptr, on == Py_True ? module : nullptr) < 0)
      PyErr_Clear();
  return none();
}

// ---- Start and stop ------------------------------------------------------------------------------------------------

// open_tracer(own_folder, c_functions, active_threads)
PyObject* open_tracer(PyObject*, PyObject* args) noexcept {
  return guarded([&]() -> PyObject* {
    const char* folder = nullptr;
    int c_functions = 0;
    PyObject* active = nullptr;
    if (!PyArg_ParseTuple(args, "spO!", &folder, &c_functions, &PyDict_Type, &active)) throw PythonErrorSet{};
    if (sites != nullptr) throw Error("the functions of this process are recorded already");
    sites = new CodeSites(folder);
    with_c_functions = c_functions != 0;
    active_threads = Owned::share(active).release();
    ++tracing_number;
    return none();
  });
}

// close_tracer(): after the hooks are removed. Ends the ranges that are open on this thread.
PyObject* close_tracer(PyObject*, PyObject*) noexcept {
  if (sites == nullptr) return none();
  for (ThreadState& state = this_thread(); state.open != 0; --state.open) record::end_site_on_stack(kStack);
  end_step(std::exchange(this_thread().step, 0));
  CodeSites* ended = std::exchange(sites, nullptr);
  Py_CLEAR(active_threads);
  forget_tasks();
  ended->clear();
  delete ended;
  return none();
}

PyMethodDef functions[] = {
    {"open_tracer", open_tracer, METH_VARARGS, nullptr},
    {"close_tracer", close_tracer, METH_NOARGS, nullptr},
    {"profile_thread", profile_thread, METH_O, nullptr},
    {"profile_other_threads", profile_other_threads, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

int add_functions(PyObject* module) noexcept {
  if (PyModule_AddFunctions(module, functions) < 0) return -1;
  return add_callbacks(module, kCallbacks);
}

}  // namespace kymo::python
