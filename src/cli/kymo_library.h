// The libraries of Kymo that `kymo` loads into other programs.
#pragma once

#include <string>

namespace kymo::cli {

// The path of a library such as "libkymo_malloc.so". Looks beside the command, in the lib/ of its tree, and in the
// install folder. Throws NotAvailable.
std::string find_kymo_library(const std::string& name);

}  // namespace kymo::cli
