// Variables, fields, typedefs, structured bindings.

#include "base/text.h"
#include "shader/parse/parser_impl.h"

namespace kymo::shader {

void ParserImpl::parse_variable(const Specifiers& specifiers, Declarator declarator, const Context& context) {
  if (specifiers.type == nullptr) {
    fail(declarator.at, base::format("expected a type before \"{}\"", declarator.text()));
  }
  if (declarator.name.meaning.is_builtin() && declarator.name.meaning.is_type()) {
    fail(declarator.at, base::format("\"{}\" is a type: nothing else can be called so", declarator.text()));
  }
  if ((specifiers.is_kernel || !specifiers.other_stage.empty()) && !context.is_instantiation) {
    fail(declarator.at, base::format("\"{}\" is a variable: only functions can be kernels", declarator.text()));
  }
  ast::Declaration& made = add(ast::DeclarationKind::Variable, declarator.at, context);
  made.type = declarator.type;
  made.is_static = specifiers.is_static;
  made.is_inline = specifiers.is_inline;
  made.is_constexpr = specifiers.is_constexpr;
  made.is_mutable = specifiers.is_mutable;
  made.is_kernel = specifiers.is_kernel;
  made.attributes = specifiers.attributes;
  made.attributes.insert(made.attributes.end(), declarator.attributes.begin(), declarator.attributes.end());
  NameScope* const scope = declarator.name.scope;
  const Word name = declarator.name.last;
  set_name(made, std::move(declarator.name));
  set_headers(made, context);
  if (!context.is_instantiation) declare_as(made, name, NameMeaning::kValue);

  NameScope* inside = scope_;
  if (scope != nullptr) {  // S::x = …: S's names are known
    inside = names_.open(NameScope::Kind::Block, scope_);
    inside->reopened = scope;
  }
  const Keep<NameScope*> in_scope(scope_, inside);
  parse_initializer(made, context);
}

void ParserImpl::parse_initializer(ast::Declaration& variable, const Context& context) {
  const Keep<bool> outside(in_template_arguments_, false);
  if (is(Word::Colon) && context.place == Place::Struct) parse_bit_width(variable);
  if (take(Word::Equal)) {
    variable.initializer = parse_initializer_clause();
  } else if (is(Word::LeftBrace)) {
    variable.initializer = parse_braces(nullptr);
  } else if (is(Word::LeftParen)) {
    if (word(1) == Word::RightParen) {
      fail(base::format("\"{0}()\" would declare a function: write \"{0}{{}}\", or nothing after the name",
                        variable.name));
    }
    ast::Expression& value = make_expression(ast::ExpressionKind::Cast, at());
    advance();
    parse_arguments(variable.direct_arguments, Word::RightParen, "after the arguments of", variable.name);
    value.type = variable.type;
    value.operands = variable.direct_arguments;
    variable.initializer = finish(value);
    variable.direct = true;
  }
}

void ParserImpl::parse_bit_width(ast::Declaration& field) {
  if (field.is_static) fail("a static member cannot be a bit-field: leave out static, or the number of bits");
  advance();
  field.bit_width = parse_conditional();
}

// uint : 3;
void ParserImpl::parse_unnamed_bits(const Specifiers& specifiers, const Context& context) {
  ast::Declaration& made = add(ast::DeclarationKind::Variable, at(), context);
  made.type = specifiers.type;
  made.is_static = specifiers.is_static;
  parse_bit_width(made);
}

void ParserImpl::add_alias(const Specifiers& specifiers, Declarator declarator, const Context& context) {
  if (is(Word::LeftParen)) {
    if (!at_parameters()) fail(base::format("expected ';' after the name of the type, found {}", found()));
    declarator.type = parse_function_type(declarator.type);
  }
  const Word name = declarator.name.last;
  if (name == Word::End || declarator.name.name.parts.size() != 1) {
    fail(declarator.at, "expected a plain name for the type");
  }
  NameScope* members = declarator.type == specifiers.type ? specifiers.members : nullptr;
  declare(name, NameMeaning::kType, members);
  // typedef struct S {…} S;
  const bool is_itself = declarator.type == specifiers.type && specifiers.defines &&
                         specifiers.type->name.last().name == declarator.text();
  if (is_itself) return;
  ast::Declaration& made = add(ast::DeclarationKind::Alias, declarator.at, context);
  made.name = declarator.text();
  made.type = declarator.type;
  made.attributes = std::move(declarator.attributes);
}

// ---- auto [a, b] = x -----------------------------------------------------------------------------------------------

bool ParserImpl::at_structured() const {
  if (is(Word::LeftBracket)) return word(1) != Word::LeftBracket;
  return (is(Word::Amp) || is(Word::AmpAmp)) && word(1) == Word::LeftBracket && word(2) != Word::LeftBracket;
}

void ParserImpl::parse_structured(const Specifiers& specifiers, const Context& context) {
  ast::Declaration& made = add(ast::DeclarationKind::Structured, at(), context);
  const auto& parts = specifiers.type->name.parts;
  if (parts.empty() || parts.back().name != "auto") fail("only \"auto\" can be taken apart: write auto [a, b] = ...");
  made.type = parse_pointers(specifiers.type);
  made.at = at();
  made.is_static = specifiers.is_static;
  made.is_constexpr = specifiers.is_constexpr;
  made.is_mutable = specifiers.is_mutable;
  made.attributes = specifiers.attributes;
  expect(Word::LeftBracket, "before the names");
  do {
    if (!is_name(word())) fail(base::format("expected a name in the list of names, found {}", found()));
    made.bindings.push_back(token().text);
    declare(word(), NameMeaning::kValue);
    advance();
  } while (take(Word::Comma));
  expect(Word::RightBracket, "after the names");
  if (context.may_range && is(Word::Colon)) return;
  if (!is(Word::Equal) && !is(Word::LeftBrace) && !is(Word::LeftParen)) {
    fail(base::format("expected '=' after the names, found {}", found()));
  }
  parse_initializer(made, context);
}

// ---- Function or variable? -----------------------------------------------------------------------------------------

bool ParserImpl::is_scoped_value(size_t index) const {
  NameMeaning meaning = names_.find(scope_, word_at(index));
  for (; word_at(index + 1) == Word::Scope; index += 2) {
    if (meaning.members == nullptr || !is_name(word_at(index + 2))) return false;
    meaning = names_.find_in(meaning.members, word_at(index + 2));
  }
  return (meaning.flags & NameMeaning::kValue) != 0;
}

bool ParserImpl::at_parameters() const {
  const size_t first = index_ + 1;
  switch (word_at(first)) {
    case Word::RightParen:
    case Word::Ellipsis:
    case Word::LeftBracket:
      return true;
    case Word::Integer:
    case Word::Float:
    case Word::Character:
    case Word::String:
    case Word::True:
    case Word::False:
    case Word::Nullptr:
    case Word::Sizeof:
    case Word::StaticCast:
      return false;
    default:
      break;
  }
  if (!is_alphabetic(word_at(first))) return word_at(first) == Word::Scope;
  if (begins_parameter(first)) return true;
  if (behind_type(first) != first) return false;  // T(…)
  if (is_scoped_value(first)) return false;       // E::x
  // A name that there is not is more likely the type of a parameter.
  return !is_name(word_at(first)) || (names_.find(scope_, word_at(first)).flags & NameMeaning::kValue) == 0;
}

}  // namespace kymo::shader
