// Standard output, for the results of a program.
#pragma once

#include <string_view>

namespace kymo::base {

// Writes all of `text` to standard output. A reader that left (`| head`) is no error: the rest is dropped silently.
// Throws kymo::Error for anything else, a full disk say.
void print(std::string_view text);

}  // namespace kymo::base
