// The library that records the heap of unmodified programs, and what puts it into one.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace kymo::cli {

// What a program's environment needs so that its heap is recorded as `mode` says (KYMO_MALLOC's forms). The library is
// looked for beside the command, in the lib/ of its tree, and where it was to be installed. A preload that is there
// already stays. Throws NotAvailable.
// Throws kymo::NotAvailable for a program that was built with a sanitizer which brings an allocator of its own.
void check_allocator(const std::string& program);

std::vector<std::pair<std::string, std::string>> memory_environment(const std::string& mode);

}  // namespace kymo::cli
