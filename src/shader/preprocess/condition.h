// What stands behind #if: an integer expression.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shader/preprocess/expander.h"
#include "shader/preprocess/macros.h"

namespace kymo::shader {

using HasHeader = std::function<bool(std::string_view name)>;

// In 64 bits, by C's rules: all operators but assignment, defined, __has_include; names that are no macros are 0.
// `directive` is where faults are reported that have no place of their own. Throws Rejected.
bool evaluate_condition(std::vector<MacroToken> line, const Location& directive, Expander& expander, MacroTable& macros,
                        const HasHeader& has_header);

// What an include names: "name" or <name>, all of the tokens; expanded where it is neither. Nothing: not even then.
std::optional<std::string> header_name(const std::vector<MacroToken>& tokens, Expander& expander);

// Expands a directive's line alone, while this lives.
class ExpandedLine {
 public:
  ExpandedLine(Expander& expander, std::vector<MacroToken> tokens) : expander_(expander) {
    expander_.begin_line(std::move(tokens));
  }
  ~ExpandedLine() { expander_.end_line(); }
  ExpandedLine(const ExpandedLine&) = delete;
  ExpandedLine& operator=(const ExpandedLine&) = delete;

 private:
  Expander& expander_;
};

}  // namespace kymo::shader
