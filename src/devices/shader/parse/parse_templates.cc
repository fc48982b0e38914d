// template <…>, and explicit instantiations.

#include "base/text.h"
#include "shader/parse/parser_impl.h"

namespace kymo::shader {

void ParserImpl::parse_template(const Context& context) {
  if (word(1) != Word::Less) return parse_instantiation(context);
  if (context.place == Place::Block)
    fail("a template cannot be declared inside a function: use a lambda with auto parameters");
  const Keep<NameScope*> back_to(scope_, scope_);
  std::vector<Header> headers;
  while (is(Word::Template)) {
    advance();
    headers.push_back(parse_header());
  }
  if (is(Word::Requires)) fail_at_word();
  Context inside = context;
  inside.headers = &headers;
  parse_declaration(inside);
}

// Opens a scope for the parameters, which the caller closes.
ParserImpl::Header ParserImpl::parse_header() {
  const Nesting nesting(*this);
  Header header;
  header.at = at();
  scope_ = names_.open(NameScope::Kind::Template, scope_);
  const Keep<bool> inside(in_template_arguments_, true);
  expect(Word::Less, "after \"template\"");
  while (!is(Word::Greater)) {
    header.parameters.push_back(parse_template_parameter());
    if (!take(Word::Comma)) break;
  }
  expect(Word::Greater, "after the template's parameters");
  return header;
}

ast::TemplateParameter ParserImpl::parse_template_parameter() {
  ast::TemplateParameter parameter;
  parameter.at = at();
  if (is(Word::Template)) {
    advance();
    const Keep<NameScope*> back_to(scope_, scope_);
    parse_header();
    parameter.is_template = true;
    if (!is(Word::Class) && !is(Word::Typename)) {
      fail_expected("\"class\" or \"typename\" after the parameters of a template's template");
    }
  }
  const bool is_value =  // typename T::type N, typename S<T>::type = 0
      is(Word::Typename) && is_name(word(1)) && (word(2) == Word::Scope || word(2) == Word::Less);
  if ((is(Word::Class) || is(Word::Typename)) && !is_value) {
    parse_type_parameter(parameter);
  } else {
    parse_value_parameter(parameter);
  }
  return parameter;
}

void ParserImpl::parse_type_parameter(ast::TemplateParameter& parameter) {
  advance();
  parameter.is_pack = take(Word::Ellipsis);
  const Word name = word();
  if (is_name(name)) {
    parameter.name = token().text;
    parameter.at = at();
    advance();
  }
  if (take(Word::Equal)) parameter.fallback.type = parse_type();
  if (is_name(name)) {
    names_.declare(scope_, name,
                   static_cast<uint8_t>(NameMeaning::kType | (parameter.is_template ? NameMeaning::kTemplate : 0) |
                                        (parameter.is_pack ? NameMeaning::kPack : 0)));
  }
}

void ParserImpl::parse_value_parameter(ast::TemplateParameter& parameter) {
  parameter.is_type = false;
  const Specifiers specifiers = parse_specifiers({Place::Parameter});
  Declarator declarator = parse_declarator(specifiers.type, Naming::Optional);
  parameter.type = declarator.type;
  parameter.is_pack = declarator.is_pack;
  if (declarator.has_name()) {
    parameter.name = declarator.text();
    parameter.at = declarator.at;
  }
  if (take(Word::Equal)) parameter.fallback.value = parse_conditional();
  if (declarator.name.last != Word::End) {
    names_.declare(scope_, declarator.name.last,
                   static_cast<uint8_t>(NameMeaning::kValue | (parameter.is_pack ? NameMeaning::kPack : 0)));
  }
}

// template [[host_name("x")]] kernel void f<float>(…);  template struct S<float>;
void ParserImpl::parse_instantiation(const Context& context) {
  if (context.place != Place::Namespace) fail("an explicit instantiation must be in a namespace");
  const Location where = at();
  advance();
  Declarations inner;
  Context inside{Place::Namespace, &inner};
  inside.is_instantiation = true;
  parse_simple_declaration(inside);
  if (inner.size() != 1) fail(where, "expected one declaration after \"template\"");
  ast::Declaration& made = add(ast::DeclarationKind::ExplicitInstantiation, inner[0]->at, context);
  made.inner = inner[0];
  made.name = inner[0]->name;
  made.attributes = inner[0]->attributes;
  made.is_kernel = inner[0]->is_kernel;
  made.other_stage = inner[0]->other_stage;
}

// ---- Arguments ------------------------------------------------------------------------------------------------------

// Template arguments after a name, and whether a "<" begins them.

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

bool ParserImpl::begins_type(Word word) {
  switch (word) {
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
      return false;
  }
}

bool ParserImpl::at_type() {
  if (begins_type(word())) return true;
  if (!at_head()) return false;
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
  if (begins_type(word_at(index)) || word_at(index) == Word::Auto) return true;
  const size_t behind = behind_type(index);
  if (behind == index || word_at(behind) == Word::LeftBrace) return false;
  const Word inside = word_at(behind + 1);  // T (&a)[4], but not T(1)
  return word_at(behind) != Word::LeftParen || inside == Word::Star || inside == Word::Amp || inside == Word::AmpAmp;
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
