// asyncio tasks in a trace of functions: each is a range across threads, from its first step to its end. Readers show
// such ranges on tracks of their own.
#pragma once

#include <Python.h>

namespace kymo::python {

// A coroutine continues, and no other one runs below it on this thread: if a task that is not known runs it, its range
// begins. Needs the GIL. Leaves no exception.
void see_current_task() noexcept;
// Forgets all tasks: their ranges end with the recording.
void forget_tasks() noexcept;

}  // namespace kymo::python
