// Scans the arguments of a command: finds its options and their values, and reports errors of their form.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "options/manual.h"

namespace kymo::options {

// OptionsFirst: the first argument that is not an option ends the options, and the rest is left as it is.
enum class Order : bool { Mixed, OptionsFirst };

struct GivenOption {
  const OptionManual* option;
  std::optional<std::string> value;  // may be empty
};

struct ScannedArguments {
  std::vector<GivenOption> options;    // in the order given
  std::vector<std::string> arguments;  // all others, without the "--" that ends the options
};

// Help and the version are alone: what else is given does not count. Throws InvalidArgument for an unknown option, a
// missing value, a value that a flag does not take, and an option that is given twice.
ScannedArguments scan_arguments(std::span<const OptionManual> options, const std::vector<std::string>& arguments,
                                Order order);

}  // namespace kymo::options
