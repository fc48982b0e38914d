// Why `kymo record` recorded nothing.
#pragma once

#include <string>
#include <vector>

#include "record/interfaces.h"

namespace kymo::cli {

// One line: what was looked for in `program` and its children, and what about the program prevents it, if anything.
// `was_sampled`: CPU samples were requested and possible, but the program used less time than there is between two.
std::string nothing_recorded(const std::string& program, const std::vector<record::Interface>& interfaces,
                             bool was_sampled);

// Why this program cannot load a library of Kymo; empty: it can, or it is not a program but a script.
std::string obstacle_to_libraries(const std::string& program);

// True if the file is a program that is linked statically: of such a program only samples are recorded.
bool is_static_program(const std::string& path);

}  // namespace kymo::cli
