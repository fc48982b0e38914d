// Scans the arguments of a command first and reports errors of their form in Kymo's own words. CLI11 reads the
// arguments afterwards. The only error left for it is a missing required argument.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "options/manual.h"

namespace kymo::options {

// OptionsFirst: the first argument that is not an option ends the options, and the rest is left as it is.
enum class Order : bool { Mixed, OptionsFirst };

// Returns the arguments in a form that CLI11 reads as intended: an empty value is an argument of its own, and help is
// alone. Throws InvalidArgument for an unknown option, a missing value, a value that a flag does not take, and an
// option that is given twice.
std::vector<std::string> scan_arguments(std::span<const OptionManual> options,
                                        const std::vector<std::string>& arguments, Order order);

}  // namespace kymo::options
