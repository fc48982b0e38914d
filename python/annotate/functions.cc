#include "annotate/functions.h"

#include <dlfcn.h>

#include <iterator>
#include <string>
#include <utility>

#include "annotate/callback.h"
#include "annotate/code_sites.h"
#include "annotate/tasks.h"
#include "kymo/annotate.h"
#include "kymo/error.h"
#include "record/stacks.h"
#include "support/arguments.h"
#include "support/errors.h"

namespace kymo::python {
namespace {

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
  return add_callbacks(module, kCallbacks, std::size(kCallbacks));
}

}  // namespace kymo::python
