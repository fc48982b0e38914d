// The expansion of a macro from its parts: #, ## and __VA_OPT__.

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "shader/preprocess/expander.h"
#include "shader/preprocess/lexer.h"

namespace kymo::shader {

namespace {

// Replaces an empty argument, so that ## has an operand on both sides. Used only in this file.
bool is_placemarker(const MacroToken& token) { return token.kind == TokenKind::End; }

}  // namespace

void Expander::substitute(const Macro& macro, std::vector<Argument>& arguments, size_t begin, size_t end,
                          std::vector<MacroToken>& out) {
  using Kind = MacroPart::Kind;
  bool pasted = false;  // the next piece is pasted to the current one
  MacroToken made;
  for (size_t i = begin; i < end; ++i) {
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
      case Kind::Optional:
      case Kind::StringifyOptional: {
        std::vector<MacroToken> inner;
        const bool is_there = !expanded(arguments.back()).empty();
        if (is_there) substitute(macro, arguments, i + 1, part.end, inner);
        if (part.kind == Kind::StringifyOptional) inner = {stringify(inner, token)};
        append(inner, token.space_before, pasted, out);
        i = part.end - 1;
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
