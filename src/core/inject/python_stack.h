// What a thread runs in Python when it starts work of a device: from the kernel to the line of the program.
//
//   "python stack"  Instant {node}: until the next one, what the thread launches was launched from there. The node 0:
//                   the thread runs no Python.
//   "python stack of the main thread"  Instant {node}: the same of a thread without Python, while the main thread runs
//                   or waits in this function. At most once in a millisecond for each thread.
//   "stack node"    Instant {node, parent, address}, before the first use of the node (docs/heap.md)
//   "symbol"        Instant {address, name, file, line}: the place in a Python function that has this address in nodes
//
// The frames are read as they are, without a call of Python. A stack of 20 functions that the thread has had before
// costs about 0.1 µs, a new one some microseconds.
#pragma once

namespace kymo::inject {

// States what the calling thread runs in Python. `or_of_main_thread`: if it runs none, what the main thread does. Does
// nothing if nothing records, if the process has no Python whose frames can be read, or if the user does not want it
// (KYMO_PYTHON_STACKS). Not for signal handlers.
void state_python_stack(bool or_of_main_thread = false) noexcept;

}  // namespace kymo::inject
