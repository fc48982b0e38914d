// What names and categories say about ranges of the host. The lists are in one place, so that every finding agrees.
#pragma once

#include <string_view>

namespace kymo::analyze {

// A profiler's own work inside the program: Kymo's, and what PyTorch, CUPTI and Nsight Systems record about themselves.
// It is never work of the program.
bool is_profiler_cost(std::string_view category, std::string_view name);

// A call of an operating system or of a device's interface, not a part of the program that its author named.
bool is_library_call(std::string_view category);

// Waits for something else, by its name: "time.sleep", "future.get", "cudaStreamSynchronize", "epoll_wait", "join".
bool is_wait(std::string_view name);

}  // namespace kymo::analyze
