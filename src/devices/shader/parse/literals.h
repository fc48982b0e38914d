// The contents of literals.
#pragma once

#include <string>
#include <string_view>

namespace kymo::shader {

// Appends the text between the quotes, with its escapes resolved. False: an escape is not valid.
bool append_unescaped(std::string_view content, std::string& into);

}  // namespace kymo::shader
