#include "shader/preprocess/macros.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace kymo::shader {

namespace {

constexpr size_t kMaxParameters = 128;

// Names ( a, b, ... ), from after the parenthesis.
void read_macro_parameters(Lexer& line, Macro& macro) {
  const auto bad = [&](const Location& at) {
    return Rejected{at, base::format("the parameters of macro \"{}\" must be names with commas between them, and \")\" "
                                     "after the last",
                                     macro.name)};
  };
  const auto next = [&] {
    Token token;
    if (!line.next_in_line(token)) throw bad(macro.at);
    return token;
  };
  Token token = next();
  if (token.is(")")) return;
  for (;; token = next()) {
    if (token.is("...")) {
      macro.is_variadic = true;
      macro.parameters.push_back("__VA_ARGS__");
      token = next();
    } else {
      if (token.kind != TokenKind::Identifier) throw bad(token.at);
      if (std::ranges::find(macro.parameters, token.text) != macro.parameters.end()) {
        throw Rejected{token.at, base::format("macro \"{}\" has two parameters \"{}\"", macro.name, token.text)};
      }
      macro.parameters.push_back(token.text);
      if (macro.parameters.size() > kMaxParameters) {
        throw Rejected{token.at, base::format("macro \"{}\" has more than {} parameters", macro.name, kMaxParameters)};
      }
      token = next();
      if (token.is("...")) {
        macro.is_variadic = true;
        token = next();
      }
    }
    if (token.is(")")) return;
    if (macro.is_variadic || !token.is(",")) throw bad(token.at);
  }
}

// The body's tokens become parts.
class MacroBodyReader {
 public:
  explicit MacroBodyReader(Macro& macro) : macro_(macro), body_(macro.body) {}

  void read() {
    const bool pastes = std::ranges::any_of(body_, [](const Token& t) { return t.is("##"); });
    if (!macro_.is_function && !pastes) {
      for (const Token& token : body_) refuse_variable_names(token);
      return;
    }
    while (at_ < body_.size()) read_part();
    check_pastes();
  }

 private:
  using Kind = MacroPart::Kind;

  void add(Kind kind, size_t token, uint32_t parameter = 0) {
    macro_.parts.push_back({kind, false, static_cast<uint32_t>(token), parameter});
  }

  void read_part() {
    const Token& token = body_[at_];
    if (token.is("##")) return add(Kind::Paste, at_++);
    if (macro_.is_function && token.is("#")) return read_stringify();
    const int parameter = parameter_of(token);
    if (parameter < 0) refuse_variable_names(token);
    add(parameter < 0 ? Kind::Text : Kind::Parameter, at_, static_cast<uint32_t>(std::max(parameter, 0)));
    ++at_;
  }

  void read_stringify() {
    const size_t sharp = at_++;
    const int parameter = at_ < body_.size() ? parameter_of(body_[at_]) : -1;
    if (parameter < 0) {
      throw Rejected{body_[sharp].at,
                     base::format("# in macro \"{}\" must be followed by one of its parameters", macro_.name)};
    }
    ++at_;
    add(Kind::Stringify, sharp, static_cast<uint32_t>(parameter));
  }

  // ## needs something on both sides; parameters beside it are taken as they were given.
  void check_pastes() {
    auto& parts = macro_.parts;
    for (size_t i = 0; i < parts.size(); ++i) {
      if (parts[i].kind != Kind::Paste) continue;
      if (i == 0 || i + 1 == parts.size() || parts[i + 1].kind == Kind::Paste)
        throw Rejected{body_[parts[i].token].at,
                       base::format("## in macro \"{}\" needs something on both of its sides", macro_.name)};
      parts[i - 1].is_raw = parts[i + 1].is_raw = true;
    }
  }

  int parameter_of(const Token& token) const {
    if (token.kind != TokenKind::Identifier) return -1;
    const auto found = std::ranges::find(macro_.parameters, token.text);
    return found == macro_.parameters.end() ? -1 : static_cast<int>(found - macro_.parameters.begin());
  }

  void refuse_variable_names(const Token& token) const {
    if (token.text == "__VA_OPT__")
      throw Rejected{token.at,
                     "__VA_OPT__ is not supported: write ## before __VA_ARGS__, which drops the comma before it"};
    if (token.text != "__VA_ARGS__") return;
    throw Rejected{token.at, "__VA_ARGS__ is allowed only in macros that end their parameters with \"...\""};
  }

  Macro& macro_;
  const std::vector<MacroToken>& body_;
  size_t at_ = 0;
};

}  // namespace

void MacroTable::add(Macro macro) {
  Macro& kept = macros_.emplace_back(std::move(macro));
  by_name_.insert_or_assign(kept.name, &kept);
  filter_[static_cast<unsigned char>(kept.name[0])] |= bit_of(kept.name);
}

void MacroTable::remove(std::string_view name) { by_name_.erase(name); }

Macro read_macro(Lexer& line, const Location& directive) {
  Macro macro;
  MacroToken token;
  if (!line.next_in_line(token)) throw Rejected{directive, "#define must be followed by a name"};
  if (token.kind != TokenKind::Identifier || token.text == "defined") {
    throw Rejected{token.at, base::format("\"{}\" cannot be the name of a macro", token.text)};
  }
  macro.name = token.text;
  macro.at = token.at;
  bool more = line.next_in_line(token);
  if (more && token.is("(") && !token.space_before) {
    macro.is_function = true;
    read_macro_parameters(line, macro);
    more = line.next_in_line(token);
  }
  for (; more; more = line.next_in_line(token)) macro.body.push_back(token);
  MacroBodyReader(macro).read();
  return macro;
}

bool same_definition(const Macro& a, const Macro& b) {
  const auto same_token = [&](const MacroToken& x, const MacroToken& y) {
    const bool is_first = &x == a.body.data();
    return x.kind == y.kind && x.text == y.text && (is_first || x.space_before == y.space_before);
  };
  return a.kind == b.kind && a.is_function == b.is_function && a.is_variadic == b.is_variadic &&
         a.parameters == b.parameters &&
         std::equal(a.body.begin(), a.body.end(), b.body.begin(), b.body.end(), same_token);
}

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
  substitute(macro, arguments, made);
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

// ---- Substitution ---------------------------------------------------------------------------------------------------

// The expansion of a macro from its parts: # and ##.

namespace {

// Replaces an empty argument, so that ## has an operand on both sides.
bool is_placemarker(const MacroToken& token) { return token.kind == TokenKind::End; }

}  // namespace

void Expander::substitute(const Macro& macro, std::vector<Argument>& arguments, std::vector<MacroToken>& out) {
  using Kind = MacroPart::Kind;
  bool pasted = false;  // the next piece is pasted to the current one
  MacroToken made;
  for (size_t i = 0; i < macro.parts.size(); ++i) {
    const MacroPart& part = macro.parts[i];
    const MacroToken& token = macro.body[part.token];
    switch (part.kind) {
      case Kind::Paste:
        pasted = true;
        continue;
      case Kind::Text:
        append({&token, 1}, token.space_before, pasted, out);
        break;
      case Kind::Stringify:
        made = stringify(arguments[part.parameter].tokens, token);
        append({&made, 1}, token.space_before, pasted, out);
        break;
      case Kind::Parameter: {
        Argument& argument = arguments[part.parameter];
        const auto& tokens = part.is_raw ? argument.tokens : expanded(argument);
        // By custom, `, ## __VA_ARGS__` pastes nothing: the comma goes away where there are no arguments.
        const bool is_rest = macro.is_variadic && part.parameter + 1 == arguments.size();
        if (pasted && is_rest && macro.parts[i - 2].kind == Kind::Text && out.back().is(",")) {
          if (tokens.empty()) out.pop_back();
          pasted = false;
        }
        append(tokens, token.space_before, pasted, out);
        break;
      }
    }
    pasted = false;
  }
  std::erase_if(out, is_placemarker);
}

void Expander::append(std::span<const MacroToken> piece, bool space_before, bool pasted, std::vector<MacroToken>& out) {
  spend(piece.size() + 1);
  if (piece.empty()) {
    if (!pasted) out.emplace_back();
    return;
  }
  const size_t first = out.size();
  if (pasted) {
    paste(out, piece.front());
    out.insert(out.end(), piece.begin() + 1, piece.end());
  } else {
    out.insert(out.end(), piece.begin(), piece.end());
    out[first].space_before = space_before;
  }
}

void Expander::paste(std::vector<MacroToken>& out, const MacroToken& right) {
  MacroToken& left = out.back();
  if (is_placemarker(left)) {
    left = right;
    return;
  }
  MacroToken made;
  const std::string_view text = keep(base::format("{}{}", left.text, right.text));
  if (lex_one(text, texts_, made)) {
    made.space_before = left.space_before;
    left = made;
    return;
  }
  const bool is_shift = left.is(">") && right.is(">");  // two tokens, as everywhere
  if (!is_shift) {
    diagnostics_.error(origin_, base::format("## cannot make one token of \"{}\" and \"{}\"", left.text, right.text));
  }
  out.push_back(right);
  out.back().space_before = !is_shift;
}

std::string Expander::escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

MacroToken Expander::stringify(const std::vector<MacroToken>& tokens, const MacroToken& sharp) {
  std::string text = "\"";
  for (const MacroToken& token : tokens) {
    spend_text(token.text.size());
    if (token.space_before && text.size() > 1) text += ' ';
    const bool is_quoted = token.kind == TokenKind::String || token.kind == TokenKind::Character;
    text += is_quoted ? escaped(token.text) : token.text;
  }
  MacroToken made = sharp;
  made.kind = TokenKind::String;
  made.text = keep(text + '"');
  return made;
}

}  // namespace kymo::shader
