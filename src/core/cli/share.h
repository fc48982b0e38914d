// Shares of an iteration, as options give them: "5%", "0".
#pragma once

#include <string>

namespace kymo::cli {

// Throws kymo::InvalidArgument with the value and the form.
double parse_share(const std::string& text);

}  // namespace kymo::cli
