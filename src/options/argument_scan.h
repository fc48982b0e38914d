// The first look at the arguments of a command: finds what is wrong with their form, in the words of Kymo.
//
// CLI11 reads the arguments afterwards and finds nothing more to say, except that a required argument is missing.
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
