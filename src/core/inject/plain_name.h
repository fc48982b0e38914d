// Names that come from a program: of a kernel, of a function.
#pragma once

#include <string>
#include <string_view>

namespace kymo::inject {

// As the name of an event, in which braces are places for arguments: they are doubled.
inline std::string plain_name(std::string_view text) {
  std::string name;
  for (const char byte : text) name.append(byte == '{' || byte == '}' ? 2 : 1, byte);
  return name;
}

}  // namespace kymo::inject
