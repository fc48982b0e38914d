// What is one operation: the ranges that have one row in every command.
#pragma once

#include <string>
#include <string_view>

#include "base/iteration_name.h"
#include "trace/values.h"

namespace kymo::analyze {

// The name of the operation of a class. Iterations are one operation, also if each has a name of its own: "step {}".
inline std::string operation_name(const trace::EventClass& event_class) {
  return base::without_iteration_number(trace::shown_name(event_class));
}

inline constexpr std::string_view kInputShapes = "Input Dims";  // the name of the value that has the shapes

// "[[8, 3], [3]]", also if a file has a line for each number.
inline std::string shapes_in_one_line(std::string_view text) {
  std::string shapes;
  for (const char c : text) {
    if (c != ' ' && c != '\n' && c != '\r' && c != '\t') shapes += c;
    if (c == ',') shapes += ' ';
  }
  return shapes;
}

}  // namespace kymo::analyze
