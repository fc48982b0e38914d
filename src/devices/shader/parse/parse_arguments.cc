// Template arguments after a name, and whether a "<" begins them.

#include "shader/parse/parser_impl.h"

namespace kymo::shader {

// A guess, for names that nothing is known of: arguments have no logic, no assignments and no statements in them,
// outside of parentheses.
size_t ParserImpl::behind_arguments(size_t less) const {
  size_t depth = 0;
  const size_t last = less + kMaxLookahead;
  for (size_t i = less; i < last;) {
    switch (word_at(i)) {
      case Word::Less:
        ++depth;
        break;
      case Word::Greater:
        if (--depth == 0) return i + 1;
        break;
      case Word::LeftParen:
      case Word::LeftBracket:
        i = behind_group(i);
        continue;
      case Word::End:
      case Word::Semicolon:
      case Word::LeftBrace:
      case Word::RightBrace:
      case Word::RightParen:
      case Word::RightBracket:
      case Word::Question:
      case Word::AmpAmp:
      case Word::PipePipe:
      case Word::PlusPlus:
      case Word::MinusMinus:
      case Word::Dot:
      case Word::Arrow:
        return less;
      default:
        if (word_at(i) >= Word::Equal && word_at(i) <= Word::ShiftRightEqual) return less;
        break;
    }
    ++i;
  }
  return less;
}

bool ParserImpl::looks_like_arguments(size_t less) const {
  const size_t behind = behind_arguments(less);
  if (behind == less) return false;
  switch (word_at(behind)) {
    case Word::LeftParen:
    case Word::Scope:
    case Word::LeftBrace:
    case Word::RightBrace:
    case Word::Comma:
    case Word::RightParen:
    case Word::RightBracket:
    case Word::Semicolon:
    case Word::Greater:
    case Word::Ellipsis:
      return true;
    default:
      break;
  }
  // Missing<int> x, Missing<int>* x: unless it compares a with b == c.
  for (size_t i = less; i < behind; ++i) {
    if (word_at(i) == Word::EqualEqual || word_at(i) == Word::NotEqual) return false;
  }
  return is_name(word_at(behind)) || word_at(behind) == Word::Star || word_at(behind) == Word::Amp;
}

void ParserImpl::parse_template_arguments(ast::NamePart& part) {
  const Nesting nesting(*this);
  const Keep<bool> inside(in_template_arguments_, true);
  part.has_arguments = true;
  expect(Word::Less, "before template arguments");
  while (!is(Word::Greater)) {
    ast::TemplateArgument argument;
    if (at_type()) {
      argument.type = parse_type();
    } else {
      argument.value = parse_conditional();
    }
    argument.is_expansion = take(Word::Ellipsis);
    part.arguments.push_back(argument);
    if (!take(Word::Comma)) break;
  }
  expect(Word::Greater, "after the template arguments of", part.name);
}

// ---- Type or value? ------------------------------------------------------------------------------------------------

bool ParserImpl::at_type() {
  switch (word()) {
    case Word::Const:
    case Word::Volatile:
    case Word::Device:
    case Word::Constant:
    case Word::Threadgroup:
    case Word::Thread:
    case Word::Struct:
    case Word::Class:
    case Word::Union:
    case Word::Enum:
      return true;
    default:
      if (!at_head()) return false;
  }
  if (at_coherent()) return true;
  if (is(Word::AsType) && word(1) == Word::Less) return false;
  const Head& head = peek_head(false);
  size_t i = head.end;
  if (head.is_type) {
    if (word_at(i) == Word::LeftBrace) return false;
    // int(long) is a function's type, int(x) a value.
    return word_at(i) != Word::LeftParen || begins_parameter(i + 1) ||
           (word_at(i + 1) == Word::Star && word_at(i + 2) == Word::RightParen) ||
           (word_at(i + 1) == Word::Amp && word_at(i + 2) == Word::RightParen);
  }
  if (head.meaning.known() || head.is_function) return false;
  // A name that there is not: "Missing*" can only be meant as a type.
  while (word_at(i) == Word::Star || word_at(i) == Word::Amp || word_at(i) == Word::Const) ++i;
  const Word behind = word_at(i);
  return i > head.end && (behind == Word::Comma || behind == Word::Greater || behind == Word::RightParen);
}

bool ParserImpl::begins_parameter(size_t index) const {
  switch (word_at(index)) {
    case Word::Const:
    case Word::Volatile:
    case Word::Device:
    case Word::Constant:
    case Word::Threadgroup:
    case Word::Thread:
    case Word::Struct:
    case Word::Auto:
      return true;
    default: {
      const size_t behind = behind_type(index);
      if (behind == index || word_at(behind) == Word::LeftBrace) return false;
      const Word inside = word_at(behind + 1);  // T (&a)[4], but not T(1)
      return word_at(behind) != Word::LeftParen || inside == Word::Star || inside == Word::Amp ||
             inside == Word::AmpAmp;
    }
  }
}

size_t ParserImpl::behind_type(size_t index) const {
  size_t i = index;
  bool is_type = word_at(i) == Word::Typename;
  i += is_type ? 1 : 0;
  const NameScope* in = nullptr;
  bool in_scope = word_at(i) == Word::Scope;
  if (in_scope) {
    in = names_.global();
    ++i;
  }
  if (is_number_word(word_at(i))) {
    while (is_number_word(word_at(i))) ++i;
    return i;
  }
  for (;;) {
    if (!is_name(word_at(i))) return index;
    NameMeaning meaning;
    if (!in_scope || in != nullptr) {
      meaning = in_scope ? names_.find_in(in, word_at(i)) : names_.find(scope_, word_at(i));
    }
    if (in_scope && !meaning.known()) meaning = names_.builtin(word_at(i));
    ++i;
    if (word_at(i) == Word::Less && (meaning.is_template() || (is_type && !meaning.known()))) {
      const size_t behind = behind_arguments(i);
      if (behind == i) return index;
      i = behind;
    }
    if (word_at(i) != Word::Scope) return is_type || meaning.is_type() ? i : index;
    in = meaning.members;
    in_scope = true;
    ++i;
  }
}

}  // namespace kymo::shader
