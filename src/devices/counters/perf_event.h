// The system call for performance events, and its errors as text.
#pragma once

#include <string>

#include "counters/thread_group.h"

namespace kymo::counters {

// Opens a file that counts `event` for the calling thread, as a member of `leader`'s group. If `leader` is -1, it leads
// a new group, which starts with enable_group. Negative: the negated error.
int open_event(const Event& event, int leader) noexcept;

// Returns 0 or the error.
int try_event(const Event& event) noexcept;

// True if the CPU counts it, which has few counters. False if the kernel counts it, which has no limit.
bool is_hardware(const Event& event) noexcept;

// The reason why the kernel refused it, and what to do, as the end of a sentence: "this machine has no …".
std::string refusal(const Event& event, int error);

}  // namespace kymo::counters
