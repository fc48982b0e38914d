#include "annotate/tasks.h"

#include <charconv>
#include <string>
#include <unordered_map>

#include "kymo/annotate.h"
#include "support/arguments.h"
#include "support/errors.h"

namespace kymo::python {
namespace {

constexpr std::string_view kCategory = "asyncio", kStepCategory = "asyncio step";

// The name of a task as a label. Names that nobody gave, Task-1, Task-2, …, are one label with a number: a program may
// make millions of them.
class TaskName {
 public:
  TaskName() = default;
  explicit TaskName(std::string_view text) : text_(text) {
    constexpr std::string_view kGiven = "Task-";
    const char* const end = text.data() + text.size();
    if (!text.starts_with(kGiven)) return;
    const auto read = std::from_chars(text.data() + kGiven.size(), end, number_);
    if (read.ec == std::errc() && read.ptr == end) text_ = "Task-{}";
    has_number_ = read.ec == std::errc() && read.ptr == end;
  }

  uint64_t start_range(std::string_view category) const noexcept {
    const kymo::Label label(text_, category);
    kymo_arg argument{};
    argument.type = KYMO_UINT;
    argument.value.as_uint = number_;
    return kymo_range_start_label(&label, has_number_ ? &argument : nullptr, has_number_ ? 1 : 0);
  }

 private:
  std::string text_;
  uint64_t number_ = 0;
  bool has_number_ = false;
};

struct KnownTask {
  TaskName name;
  Owned reference;  // a weak one: a task that is dropped before it is done leaves its address to another one

  bool is_of(PyObject* task) const noexcept { return PyWeakref_GetObject(reference.get()) == task; }
};

std::unordered_map<PyObject*, KnownTask>& known_tasks() {
  static auto* tasks = new std::unordered_map<PyObject*, KnownTask>;  // may be used until the end of the process
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

uint64_t begin_step() noexcept {
  if (!kymo::detail::recording()) return 0;
  const Owned task = current_task();
  if (!task) return 0;
  try {
    const auto known = known_tasks().find(task.get());
    if (known != known_tasks().end() && known->second.is_of(task.get()))
      return known->second.name.start_range(kStepCategory);
    Owned reference = checked(PyWeakref_NewRef(task.get(), nullptr));  // asyncio has weak references to all tasks too
    const Owned given(PyObject_CallMethod(task.get(), "get_name", nullptr));
    const Text text(given ? given.get() : Py_None, "task");
    const TaskName name(text.is_valid() ? text.view() : "task");
    known_tasks()[task.get()] = {name, std::move(reference)};
    PyErr_Clear();
    const Owned number(PyLong_FromUnsignedLongLong(name.start_range(kCategory)));
    const uint64_t step = name.start_range(kStepCategory);
    static PyMethodDef done = {"task_is_done", task_is_done, METH_O, nullptr};
    const Owned callback(number ? PyCFunction_New(&done, number.get()) : nullptr);
    const Owned added(callback ? PyObject_CallMethod(task.get(), "add_done_callback", "O", callback.get()) : nullptr);
    PyErr_Clear();
    return step;
  } catch (...) {
    PyErr_Clear();
    return 0;
  }
}

void end_step(uint64_t number) noexcept {
  if (number != 0) kymo_range_end(number);
}

void forget_tasks() noexcept { known_tasks().clear(); }

}  // namespace kymo::python
