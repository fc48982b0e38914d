#include "shader/preprocess/expander.h"

#include <utility>

#include "base/text.h"

namespace kymo::shader {

namespace {

constexpr size_t kDeepestExpansion = 256;
constexpr uint64_t kMaxTotalTokens = 4'000'000;

}  // namespace

void Expander::spend(size_t tokens) {
  spent_ += tokens;
  if (spent_ > kMaxTotalTokens) {
    throw Overrun{
        {origin_, base::format("the source grows to more than {} tokens; check its macros", kMaxTotalTokens)}};
  }
}

void Expander::spend_text(size_t bytes) {
  constexpr size_t kBytesPerToken = 16;
  spend(1 + bytes / kBytesPerToken);
}

std::string_view Expander::keep(std::string text) {
  spend_text(text.size());
  return texts_.emplace_back(std::move(text));
}

Expander::Context& Expander::push(Context::Kind kind, std::vector<MacroToken> tokens) {
  if (depth_ >= kDeepestExpansion)
    throw Overrun{{origin_, base::format("macros nest deeper than {}", kDeepestExpansion)}};
  if (depth_ == contexts_.size()) contexts_.emplace_back();
  Context& context = contexts_[depth_++];
  context.kind = kind;
  context.macro = nullptr;
  context.is_first = kind == Context::Kind::Expansion;
  context.owned = std::move(tokens);
  context.at = context.owned.data();
  context.end = context.at + context.owned.size();
  return context;
}

void Expander::pop() {
  Context& context = contexts_[--depth_];
  if (context.macro != nullptr) context.macro->in_use = false;
}

// Leaves sources that were read to the end: their macros may be used again.
const MacroToken* Expander::peek() {
  while (depth_ > 0) {
    const Context& context = contexts_[depth_ - 1];
    if (context.at != context.end) return context.at;
    if (context.kind != Context::Kind::Expansion) return nullptr;
    pop();
  }
  if (!has_pending_) {
    static_cast<Token&>(pending_) = source_.next();  // may read a directive, and so use this object for its line
    has_pending_ = true;
  }
  return &pending_;
}

bool Expander::read(MacroToken& token) {
  if (depth_ == 0 && !has_pending_) {  // most tokens come and go this way
    static_cast<Token&>(token) = source_.next();
    token.is_final = false;
    spend(1);
    return true;
  }
  const MacroToken* const next = peek();
  if (next == nullptr) return false;
  spend(1);
  token = *next;
  if (depth_ == 0) {
    has_pending_ = false;
    return true;
  }
  Context& context = contexts_[depth_ - 1];
  ++context.at;
  if (context.kind == Context::Kind::Line) return true;
  const bool is_first = std::exchange(context.is_first, false);
  if (is_first) token.space_before = context.space_before;
  token.line_start = is_first && context.line_start;
  token.at = origin_;
  return true;
}

bool Expander::next(MacroToken& token) {
  for (;;) {
    if (!read(token)) return false;
    if (token.kind != TokenKind::Identifier || token.is_final) return true;
    Macro* const macro = macros_.find(token.text);
    if (macro == nullptr || macro->kind == MacroKind::HasInclude) return true;
    if (macro->in_use) {
      token.is_final = true;
      return true;
    }
    if (depth_ == 0 || contexts_[depth_ - 1].kind == Context::Kind::Line) origin_ = token.at;
    if (macro->kind != MacroKind::Defined) {
      token = make_builtin(*macro, token);
      return true;
    }
    if (macro->is_function) {
      const MacroToken* const parenthesis = peek();
      if (parenthesis == nullptr || !parenthesis->is("(")) return true;
    }
    if (!expand(*macro, token)) {
      token.is_final = true;
      return true;
    }
  }
}

MacroToken Expander::make_builtin(const Macro& macro, const MacroToken& name) {
  MacroToken token = name;
  token.kind = TokenKind::Integer;
  if (macro.kind == MacroKind::File) {
    token.kind = TokenKind::String;
    token.text = keep('"' + escaped(files_.shown(origin_).name) + '"');
  } else {
    token.text = keep(std::to_string(macro.kind == MacroKind::Line ? files_.shown(origin_).line : counter_++));
  }
  return token;
}

bool Expander::expand(Macro& macro, const MacroToken& name) {
  constexpr size_t kCost = 4;  // in tokens, even if it comes to nothing
  spend(kCost);
  std::vector<Argument> arguments;
  if (macro.is_function && !read_arguments(macro, arguments)) return false;
  std::vector<MacroToken> made;
  substitute(macro, arguments, 0, macro.parts.size(), made);
  Context& context = push(Context::Kind::Expansion, std::move(made));
  context.macro = &macro;
  context.space_before = name.space_before;
  context.line_start = name.line_start;
  if (macro.parts.empty()) {
    context.at = macro.body.data();
    context.end = context.at + macro.body.size();
  }
  macro.in_use = true;
  return true;
}

// Commas inside parentheses do not separate. The last parameter of a variadic macro takes all that is left.
bool Expander::read_arguments(const Macro& macro, std::vector<Argument>& arguments) {
  const size_t wanted = macro.parameters.size();
  MacroToken token;
  read(token);  // the parenthesis
  arguments.resize(wanted);
  size_t given = 1;
  bool is_empty = true;
  for (size_t open = 1;;) {
    if (!read(token) || token.kind == TokenKind::End) {
      diagnostics_.error(origin_,
                         base::format("the arguments of macro \"{}\" do not end: \")\" is missing", macro.name));
      return false;
    }
    if (token.is("(")) ++open;
    if (token.is(")") && --open == 0) break;
    is_empty = false;
    if (token.is(",") && open == 1 && !(macro.is_variadic && given >= wanted)) {
      ++given;
      continue;
    }
    if (given <= wanted) arguments[given - 1].tokens.push_back(token);
  }
  if (wanted == 0 && is_empty) given = 0;
  if (given == wanted || (macro.is_variadic && given + 1 >= wanted)) return true;
  const size_t named = macro.is_variadic ? wanted - 1 : wanted;
  diagnostics_.error(origin_, base::format("macro \"{}\" takes {}{} argument{}, but {} {} given", macro.name,
                                           macro.is_variadic ? "at least " : "", named, named == 1 ? "" : "s", given,
                                           given == 1 ? "is" : "are"));
  return false;
}

const std::vector<MacroToken>& Expander::expanded(Argument& argument) {
  if (std::exchange(argument.is_expanded, true)) return argument.expanded;
  push(Context::Kind::Argument, argument.tokens);
  for (MacroToken token; next(token);) argument.expanded.push_back(token);
  pop();
  return argument.expanded;
}

void Expander::begin_line(std::vector<MacroToken> tokens) {
  push(Context::Kind::Line, std::move(tokens)).outer_origin = origin_;
}

void Expander::end_line() {
  while (contexts_[depth_ - 1].kind != Context::Kind::Line) pop();
  origin_ = contexts_[depth_ - 1].outer_origin;
  pop();
}

}  // namespace kymo::shader
