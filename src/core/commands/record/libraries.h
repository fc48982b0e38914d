// The libraries of Kymo that `kymo` loads into other programs.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace kymo::cli {

// The path of a library such as "libkymo_malloc.so". Looks beside the command, in the lib/ of its tree, and in the
// install folder. Throws NotAvailable.
std::string find_kymo_library(const std::string& name);

// The same for a library that the dynamic linker loads before others, by this variable.
inline constexpr const char* kPreloadVariable = "LD_PRELOAD";
std::string find_preloaded_library(const std::string& name);

// The library that records the heap of unmodified programs, and the environment that loads it.

// Throws kymo::NotAvailable for a program that was built with a sanitizer that has its own allocator.
void check_allocator(const std::string& program);

// Adds what makes a program record its heap as `mode` says (a value of KYMO_MALLOC) to an environment. Keeps an
// existing LD_PRELOAD. Throws NotAvailable.
void add_memory(std::vector<std::pair<std::string, std::string>>& environment, const std::string& mode);

// The value of a variable in an environment: what the program would inherit if it is not given. Empty: neither.
std::string& variable_in(std::vector<std::pair<std::string, std::string>>& environment, const char* name);

// `kymo record --python`: the environment that makes Python programs record their functions.

// `mode` is "yes", or "all" for functions that are written in C too. Keeps an existing PYTHONPATH. Throws NotAvailable
// if the Python package is not installed.
std::vector<std::pair<std::string, std::string>> python_environment(const std::string& mode);

// Why the program itself, a Python with these options, does not load it. Empty: it does, or it is another program.
std::string python_obstacle(const std::vector<std::string>& program);

}  // namespace kymo::cli
