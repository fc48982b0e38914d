// The condition of #if: an integer expression.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shader/preprocess/macros.h"

namespace kymo::shader {

using HasHeader = std::function<bool(std::string_view name)>;

// In 64 bits, by C's rules: all operators except assignment, defined, __has_include; names that are not macros are 0.
// `directive` is the position for errors that have none of their own. Throws Rejected.
bool evaluate_condition(std::vector<MacroToken> line, const Location& directive, Expander& expander, MacroTable& macros,
                        const HasHeader& has_header);

// The name in an include: "name" or <name>, from all of the tokens; expanded if it is neither. Empty: it is neither
// after expansion.
std::optional<std::string> header_name(const std::vector<MacroToken>& tokens, Expander& expander);

}  // namespace kymo::shader
