// Events by name: the kernel's own, which every machine has a meaning for, and the processor's, which libpfm4 knows.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "counters/thread_group.h"

namespace kymo::counters {

// The kernel's, the usual five first, each once by its first name: "page-faults" and "faults" are "pagefaults" too.
std::span<const Event> kernel_events();

// By any of their names, in capitals or not. Nothing where there is none; whether it can be counted is not asked.
std::optional<Event> kernel_event(std::string_view name);
std::optional<Event> processor_event(const std::string& name);

// libpfm4's for this processor, "EVENT" or "EVENT:UNIT_MASK"; empty where Kymo was built without it.
std::vector<std::string> processor_event_names();

// Up to `most` of all names, those most like `name` first; none that is not like it at all.
std::vector<std::string> names_like(std::string_view name, size_t most);

// What happens inside the kernel alone, and would be counted as 0 in user mode.
bool only_in_kernel(const Event& event) noexcept;

}  // namespace kymo::counters
