// The characters of a JSON text with escapes.
#pragma once

#include <string>
#include <string_view>

namespace kymo::import {

// `escaped` is without its quotes. Half of a surrogate pair becomes U+FFFD; an unknown escape is the character itself.
std::string unescaped_json(std::string_view escaped);

}  // namespace kymo::import
