// Messages of the library to the user of its program: one line on standard error.
#pragma once

#include <unistd.h>

#include <string>
#include <string_view>

#include "base/file.h"

namespace kymo::base {

// Prints "kymo: …". `untrusted` may contain file names with any bytes: control characters become question marks. If
// standard error is a file at its size limit, the program still continues.
inline void say_to_user(std::string_view what, std::string_view untrusted) {
  std::string line = "kymo: " + std::string(what);
  for (const char byte : untrusted) line += static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f ? '?' : byte;
  line += '\n';
  size_t written = 0;
  write_all(STDERR_FILENO, as_bytes(std::string_view(line)), written);
}

}  // namespace kymo::base
