// What a library has to tell the user of a program that it is in: a line on standard error.
#pragma once

#include <unistd.h>

#include <string>
#include <string_view>

#include "base/file.h"

namespace kymo::base {

// "kymo: …". `untrusted` may name files, and their names hold anything: control characters become question marks. A
// file at its limit in the place of standard error is no reason to end the program.
inline void say_to_user(std::string_view what, std::string_view untrusted) {
  std::string line = "kymo: " + std::string(what);
  for (const char byte : untrusted) line += static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f ? '?' : byte;
  line += '\n';
  size_t written = 0;
  write_all(STDERR_FILENO, as_bytes(std::string_view(line)), written);
}

}  // namespace kymo::base
