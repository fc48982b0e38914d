// Standard output, for the results of a program.
#pragma once

#include <string_view>

namespace kymo::base {

// Writes all of `text` to standard output. A reader that has ended (`| head`) is not an error: the rest is dropped
// silently. Throws kymo::Error for any other error, for example a full disk.
void print(std::string_view text);

}  // namespace kymo::base
