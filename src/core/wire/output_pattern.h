// The path of a trace, with placeholders: "/data/{host}/{name}-{pid}.kymo".
//
// One request goes to many processes, and each writes its own file. The values come from programs and users, so they
// cannot leave the folder that the pattern names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kymo::wire {

// The values of the placeholders: {pid} {request} {name} {host} {job} {time}.
struct OutputNames {
  int64_t pid = 0;
  uint64_t request = 0;
  std::string name = {};
  std::string host = {};
  std::string job = {};
  std::string time = {};  // in the format of the caller: "20260131-142530"
};

// The path. In the values, every character except letters, digits and `._-+` becomes `_`, and so does a leading dot. An
// empty value becomes "none". "{{" and "}}" are braces. A pattern without {pid} and {request} gets "_PID" before its
// extension; otherwise all processes would write the same file. Refuses an unknown placeholder, and a path longer than
// kLongestText.
base::Result<std::string> output_from_pattern(std::string_view pattern, const OutputNames& names);

}  // namespace kymo::wire
