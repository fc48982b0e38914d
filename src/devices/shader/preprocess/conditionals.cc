// #if and its kin: which groups of lines are read.

#include "base/text.h"
#include "shader/preprocess/condition.h"
#include "shader/preprocess/source_reader.h"

namespace kymo::shader {

namespace {

constexpr size_t kMaxConditionals = 256;

bool begins_conditional(std::string_view name) { return name == "if" || name == "ifdef" || name == "ifndef"; }

bool is_alternative(std::string_view name) {
  return name == "else" || name == "elif" || name == "elifdef" || name == "elifndef";
}

}  // namespace

bool SourceReader::do_conditional(const Token& name) {
  if (begins_conditional(name.text)) {
    begin_conditional(name);
  } else if (is_alternative(name.text)) {
    if (!begin_alternative(name)) skip_group();
  } else if (name.text == "endif") {
    end_conditional(name);
  } else {
    return false;
  }
  return true;
}

void SourceReader::begin_conditional(const Token& name) {
  if (conditionals_.size() >= kMaxConditionals) {
    throw Overrun{{name.at, base::format("#{} nests deeper than {}", name.text, kMaxConditionals)}};
  }
  conditionals_.push_back({name.at, false, false});
  const bool taken = is_met(name);
  conditionals_.back().was_taken = taken;
  if (!taken) skip_group();
}

bool SourceReader::begin_alternative(const Token& name) {
  if (conditionals_.size() == open_.back().conditionals) {
    throw Rejected{name.at, base::format("#{} has no #if before it", name.text)};
  }
  Conditional& conditional = conditionals_.back();
  if (conditional.had_else) {
    diagnostics_.error(name.at, base::format("#{} follows the #else of its #if", name.text));
    diagnostics_.note(conditional.at, "the #if is here");
    return false;
  }
  conditional.had_else = name.text == "else";
  if (conditional.was_taken) return false;
  if (conditional.had_else) end_line(name);
  conditional.was_taken = conditional.had_else || is_met(name);
  return conditional.was_taken;
}

void SourceReader::end_conditional(const Token& name) {
  if (conditionals_.size() == open_.back().conditionals) throw Rejected{name.at, "#endif has no #if before it"};
  conditionals_.pop_back();
  end_line(name);
}

bool SourceReader::is_met(const Token& name) {
  try {
    if (name.text == "if" || name.text == "elif") {
      const HasHeader has_header = [this](std::string_view header) { return find_header(header).has_value(); };
      return evaluate_condition(rest_of_line(), name.at, expander_, macros_, has_header);
    }
    const bool is_defined = macros_.find(macro_name(name).text) != nullptr;
    end_line(name);
    return is_defined == !name.text.ends_with("ndef");
  } catch (const Rejected& rejected) {
    diagnostics_.report(rejected);
    lexer().rest_of_line();
    return false;
  }
}

// Skipped text is not checked, but its #if and #endif are counted.
void SourceReader::skip_group() {
  size_t inner = 0;
  lexer().mute(true);
  for (;;) {
    const Token sharp = lexer().next();
    if (sharp.kind == TokenKind::End) break;
    Token name;
    if (!sharp.line_start || !sharp.is("#") || !lexer().next_in_line(name)) continue;
    if (begins_conditional(name.text)) {
      ++inner;
    } else if (inner > 0) {
      if (name.text == "endif") --inner;
    } else if (name.text == "endif") {
      lexer().mute(false);
      return end_conditional(name);
    } else if (is_alternative(name.text)) {
      lexer().mute(false);
      if (begin_alternative(name)) return;
      lexer().mute(true);
    }
  }
  lexer().mute(false);
}

void SourceReader::end_open_conditionals(size_t expected) {
  for (; conditionals_.size() > expected; conditionals_.pop_back()) {
    diagnostics_.error(conditionals_.back().at, "this #if does not end: #endif is missing");
  }
}

}  // namespace kymo::shader
