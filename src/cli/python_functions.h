// `kymo record --python`: the environment that makes Python programs record their functions.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace kymo::cli {

// `mode` is "yes", or "all" for functions that are written in C too. Keeps an existing PYTHONPATH. Throws NotAvailable
// if the Python package is not installed.
std::vector<std::pair<std::string, std::string>> python_environment(const std::string& mode);

}  // namespace kymo::cli
