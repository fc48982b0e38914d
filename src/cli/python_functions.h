// `kymo record --python`: the environment that makes Python programs record their functions.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace kymo::cli {

// `mode` is "yes", or "all" for functions that are written in C too. Keeps an existing PYTHONPATH. Throws NotAvailable
// if the Python package is not installed.
std::vector<std::pair<std::string, std::string>> python_environment(const std::string& mode);

// Why the program itself, a Python with these options, does not load it. Empty: it does, or it is another program.
std::string python_obstacle(const std::vector<std::string>& program);

}  // namespace kymo::cli
