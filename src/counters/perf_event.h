// The kernel's call behind performance events, and its refusals in words.
#pragma once

#include <string>

#include "counters/thread_group.h"

namespace kymo::counters {

// A file that counts `event` for the calling thread, as a member of `leader`'s group (-1: leads one, which waits for
// enable_group). Below zero: the error, negated.
int open_event(const Event& event, int leader) noexcept;

// 0 or the error.
int try_event(const Event& event) noexcept;

// Whether it is counted by the processor, which has few counters, not by the kernel, which has as many as are wanted.
bool is_hardware(const Event& event) noexcept;

// Why the kernel refused it and what helps, as the end of a sentence: "this machine has no …".
std::string refusal(const Event& event, int error);

}  // namespace kymo::counters
