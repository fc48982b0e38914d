// Where a trace goes, with places for names: "/data/{host}/{name}-{pid}.kymo".
//
// One request goes to many processes, and each writes a file of its own. Names come from programs and users, so what
// they put in cannot leave the folder that the pattern names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "wire/result.h"

namespace kymo::wire {

// What the places stand for: {pid} {request} {name} {host} {job} {time}.
struct OutputNames {
  int64_t pid = 0;
  uint64_t request = 0;
  std::string name = {};
  std::string host = {};
  std::string job = {};
  std::string time = {};  // as the caller writes it: "20260131-142530"
};

// The path. In what is put in, everything but letters, digits and `._-+` becomes `_`, and so does a leading dot; an
// empty one is "none". "{{" and "}}" are braces. A pattern without {pid} and {request} gets "_PID" before its ending,
// or all processes would write the same file. Refused: a place that is not known, and a path beyond kLongestText.
Result<std::string> output_from_pattern(std::string_view pattern, const OutputNames& names);

}  // namespace kymo::wire
