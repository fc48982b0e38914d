// Performance events by name: the kernel's events, which exist on every machine, and the CPU's events from libpfm4.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "counters/thread_group.h"

namespace kymo::counters {

// Finds events by name: the five of PyTorch ("cycles", "instructions", "pagefaults", "backend-stall-cycles",
// "frontend-stall-cycles"), the kernel's ("task-clock", "context-switches", "branch-misses", "LLC-load-misses", …), and
// those of libpfm4 for this CPU. Tests each event alone, then all together. Throws kymo::InvalidArgument if one is
// unknown or repeated, or if there are too many. Throws kymo::NotAvailable if this machine cannot count one, or not
// together with the others. Both messages say what is possible.
std::vector<Event> find_events(std::span<const std::string> names);

// The events that can be counted on this machine, the five usual ones first if they can. Tests each event: takes some
// ms if there are many.
std::vector<std::string> countable_events();

// ---- The parts of find_events() ----

// The events of the kernel, the five usual ones first. Each appears once, with its first name: "pagefaults" is also
// called "page-faults" and "faults".
std::span<const Event> kernel_events();

// Finds an event by any of its names; case is ignored. Nothing if not found. Does not test if it can be counted.
std::optional<Event> kernel_event(std::string_view name);
std::optional<Event> processor_event(const std::string& name);

// The events of libpfm4 for this CPU, "EVENT" or "EVENT:UNIT_MASK". Empty if Kymo was built without libpfm4.
std::vector<std::string> processor_event_names();

// True for events that happen only in the kernel, and so would be 0 in user mode.
bool only_in_kernel(const Event& event) noexcept;

}  // namespace kymo::counters
