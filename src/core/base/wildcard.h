// Patterns with wildcards, as in a shell: `*` is any text, `?` is any character.
#pragma once

#include <string_view>

namespace kymo::base {

// Whether the pattern describes the whole name. Takes at most the time of one length multiplied by the other: fnmatch
// takes very long for some patterns.
bool matches(std::string_view pattern, std::string_view name);

// Whether the text has a wildcard.
inline bool has_wildcard(std::string_view text) { return text.find_first_of("*?") != text.npos; }

}  // namespace kymo::base
