// Standard output, for the results of a program, and standard error, for the messages of the library.
#pragma once

#include <string_view>

namespace kymo::base {

// Writes all of `text` to standard output. A reader that has ended (`| head`) is not an error: the rest is dropped
// silently. Throws kymo::Error for any other error, for example a full disk.
void print(std::string_view text);

// A message of the library to the user of its program: one line on standard error. Prints "kymo: …". `untrusted` may
// contain file names with any bytes: control characters become question marks. If standard error is a file at its size
// limit, the program still continues.
void say_to_user(std::string_view what, std::string_view untrusted);

}  // namespace kymo::base
