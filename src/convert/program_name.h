// The short name of a program.
#pragma once

#include <string>
#include <string_view>

namespace kymo::convert {

// The last part of a path such as /usr/bin/python3. Traces of other tools name a process by any text, also by a command
// line; such a text stays as it is.
inline std::string program_name(std::string_view text) {
  const bool is_path = text.starts_with('/') && text.find(" /") == text.npos && text.find(" -") == text.npos;
  return std::string(is_path ? text.substr(text.find_last_of('/') + 1) : text);
}

}  // namespace kymo::convert
