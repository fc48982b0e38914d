// The short name of a program.
#pragma once

#include <string>
#include <string_view>

#include "trace/model.h"

namespace kymo::trace {

// The last part of a path such as /usr/bin/python3. Traces of other tools name a process by any text, also by a command
// line; such a text stays as it is.
inline std::string program_name(std::string_view text) {
  const bool is_path = text.starts_with('/') && text.find(" /") == text.npos && text.find(" -") == text.npos;
  return std::string(is_path ? text.substr(text.find_last_of('/') + 1) : text);
}

// Of the executable, or else of the first word of the command line. Empty if the origin has neither.
inline std::string program_name(const Origin& origin) {
  if (std::string name = program_name(origin.executable); !name.empty()) return name;
  return origin.command_line.empty() ? std::string() : program_name(origin.command_line[0]);
}

}  // namespace kymo::trace
