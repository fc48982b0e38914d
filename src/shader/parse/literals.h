// What is written in literals.
#pragma once

#include <string>
#include <string_view>

namespace kymo::shader {

// The content of a text between its quotes, with its escapes undone. False: one of them is none.
bool append_unescaped(std::string_view content, std::string& into);

}  // namespace kymo::shader
