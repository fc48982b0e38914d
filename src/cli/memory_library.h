// The library that records the heap of unmodified programs, and the environment that loads it.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace kymo::cli {

// Throws kymo::NotAvailable for a program that was built with a sanitizer that has its own allocator.
void check_allocator(const std::string& program);

// The environment variables that make a program record its heap as `mode` says (a value of KYMO_MALLOC). Keeps an
// existing LD_PRELOAD. Throws NotAvailable.
std::vector<std::pair<std::string, std::string>> memory_environment(const std::string& mode);

}  // namespace kymo::cli
