#include "annotate/tasks.h"

#include <string>
#include <unordered_set>

#include "kymo/annotate.h"
#include "support/arguments.h"

namespace kymo::python {
namespace {

constexpr std::string_view kCategory = "asyncio";

std::unordered_set<PyObject*>& known_tasks() {
  static auto* tasks = new std::unordered_set<PyObject*>;  // may be used until the end of the process
  return *tasks;
}

// Called by the task when it is done; `number` is the one of its range.
PyObject* task_is_done(PyObject* number, PyObject* task) noexcept {
  known_tasks().erase(task);
  kymo_range_end(PyLong_AsUnsignedLongLong(number));
  Py_RETURN_NONE;
}

// The running task of this thread's loop; null: none. Leaves no exception.
Owned current_task() noexcept {
  // The module is there if a loop runs. The interpreter calls no hooks while it is in one, so nothing of this is
  // recorded.
  const Owned name(PyUnicode_InternFromString("asyncio.tasks"));
  const Owned module(name ? PyImport_GetModule(name.get()) : nullptr);
  const Owned events(module ? PyObject_GetAttrString(module.get(), "events") : nullptr);
  const Owned loop(events ? PyObject_CallMethod(events.get(), "_get_running_loop", nullptr) : nullptr);
  Owned task;
  if (loop && loop.get() != Py_None) task = Owned(PyObject_CallMethod(module.get(), "current_task", "O", loop.get()));
  PyErr_Clear();
  return task && task.get() != Py_None ? std::move(task) : Owned();
}

}  // namespace

void see_current_task() noexcept {
  if (!kymo::detail::recording()) return;
  const Owned task = current_task();
  if (!task) return;
  try {
    if (!known_tasks().insert(task.get()).second) return;
  } catch (...) {
    return;
  }
  const Owned name(PyObject_CallMethod(task.get(), "get_name", nullptr));
  const Text text(name ? name.get() : Py_None, "task");
  const kymo::Label label(text.is_valid() ? text.view() : std::string_view("task"), kCategory);
  const Owned number(PyLong_FromUnsignedLongLong(kymo_range_start_label(&label, nullptr, 0)));
  static PyMethodDef done = {"task_is_done", task_is_done, METH_O, nullptr};
  const Owned callback(number ? PyCFunction_New(&done, number.get()) : nullptr);
  const Owned added(callback ? PyObject_CallMethod(task.get(), "add_done_callback", "O", callback.get()) : nullptr);
  PyErr_Clear();
}

void forget_tasks() noexcept { known_tasks().clear(); }

}  // namespace kymo::python
