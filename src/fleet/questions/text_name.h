// Names of a trace as valid UTF-8, and back: names are any bytes, and the texts of a Parquet file are UTF-8.
//
// A byte that is not part of valid UTF-8, and NUL, becomes \xNN. A backslash in front of such a text becomes \x5C, so
// that two different names never become the same text.
#pragma once

#include <string>
#include <string_view>

namespace kymo::fleet {

std::string text_of_name(std::string_view name);

// The same for people: control characters, those that reorder a line, and spaces at the ends are \xNN too.
std::string shown_name(std::string_view name);

// The bytes again, from both: every \xNN is a byte.
std::string name_of_text(std::string_view text);

// An operation as `kymo fleet top` lists it, and as --operation takes it back: "gemm", or "gemm (device)". A host
// operation whose own name ends like this is "gemm \x28device)".
struct Operation {
  std::string name;
  bool only_on_device = false;  // false: that of the host, or that of devices if the host has none
};
std::string operation_text(std::string_view name, bool on_device);
Operation parse_operation(std::string_view text);

}  // namespace kymo::fleet
