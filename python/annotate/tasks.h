// asyncio tasks in a trace of functions: each is a range across threads from its first step to its end, and a range for
// each of its steps. Both have the name of the task, so readers show them on a track with this name.
#pragma once

#include <Python.h>

#include <cstdint>

namespace kymo::python {

// A coroutine continues, and no other one runs below it on this thread: a step of the running task begins. Returns the
// number of its range; 0: no task runs, or nothing records. Needs the GIL. Leaves no exception.
uint64_t begin_step() noexcept;
// The coroutine has given up control.
void end_step(uint64_t number) noexcept;
// Forgets all tasks: their ranges end with the recording.
void forget_tasks() noexcept;

}  // namespace kymo::python
