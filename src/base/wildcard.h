// Patterns with wildcards, as in a shell: `*` is any text, `?` is any character.
#pragma once

#include <string_view>

namespace kymo::base {

// Whether the pattern describes the whole name. Takes at most the time of one length multiplied by the other: fnmatch
// takes very long for some patterns.
bool matches(std::string_view pattern, std::string_view name);

}  // namespace kymo::base
