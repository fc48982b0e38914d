// Names of a trace as valid UTF-8, and back: names are any bytes, and the texts of a Parquet file are UTF-8.
//
// A byte that is not part of valid UTF-8, and NUL, becomes \xNN. A backslash in front of such a text becomes \x5C, so
// that two different names never become the same text.
#pragma once

#include <string>
#include <string_view>

namespace kymo::fleet {

std::string text_of_name(std::string_view name);

// The bytes again: every \xNN is a byte.
std::string name_of_text(std::string_view text);

}  // namespace kymo::fleet
