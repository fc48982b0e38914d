// Operators of PyTorch, and the scopes that a program names (record_function, Optimizer.step), as ranges of their
// threads.
//
// PyTorch calls the functions that at::addGlobalCallback() gets at both ends of each operator. This function, and those
// that say what an operator is, are exported, and have had the same names and structures since 1.13. So no header of
// PyTorch is needed, and the program's own version is heard. Before the first recording, a scope of our own tests
// whether the structures are as expected, and where an operator keeps its sequence number, which connects it with its
// backward function. If they are not, one line says so and no operator is recorded.
#pragma once

namespace kymo::inject::torch {

// For the entry points of other interfaces: takes part from now on, if the process has loaded libtorch. Otherwise does
// nothing, so call it again later. Any thread may call it, any number of times.
void start_if_loaded() noexcept;

// On the calling thread. The outermost operator has stated its Python stack (inject/python_stack.h).
bool is_in_operator() noexcept;

}  // namespace kymo::inject::torch
