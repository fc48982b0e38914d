// Checks texts from a trace that are written into a JSON file as they are.
#pragma once

#include <string_view>

namespace kymo::convert {

// True if the text is a JSON array of numbers, strings, literals and such arrays, in UTF-8. At most 64 levels deep.
bool is_json_list(std::string_view untrusted);

}  // namespace kymo::convert
