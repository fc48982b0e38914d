// The tokens around a declared name: pointers, references, arrays.

#include "base/text.h"
#include "shader/parse/parser_impl.h"

namespace kymo::shader {

ParserImpl::Declarator ParserImpl::parse_declarator(const ast::TypeName* base, Naming naming) {
  Declarator declarator;
  declarator.type = base != nullptr ? parse_pointers(base) : nullptr;
  declarator.at = at();
  if (is(Word::LeftParen) && at_nested_declarator()) {
    // (*name)[4], (name)(int): the part after the parenthesis is nearer to the type than the part in it.
    const Nesting nesting(*this);
    const size_t open = index_;
    index_ = behind_group(open);
    const ast::TypeName* whole =
        is(Word::LeftParen) ? parse_function_type(declarator.type) : parse_arrays(declarator.type);
    const size_t behind = index_;
    index_ = open + 1;
    declarator = parse_declarator(whole, naming);
    expect(Word::RightParen, "after the name");
    index_ = behind;
    parse_attributes(declarator.attributes);
    return declarator;
  }
  if (naming != Naming::Never) {
    declarator.is_pack = take(Word::Ellipsis);
    if (is_name(word()) || is(Word::Operator) || is(Word::Scope) || is(Word::Tilde)) {
      const Keep<const StructContext*> as_written(friend_of_, nullptr);
      declarator.name = take_head(false);
      declarator.at = declarator.name.at;
    } else if (naming == Naming::Required) {
      fail(base::format("expected a name after the type, found {}", found()));
    }
    parse_attributes(declarator.attributes);
  }
  if (is(Word::LeftBracket) && !at_attributes() && declarator.type != nullptr) {
    declarator.type = parse_arrays(declarator.type);
    if (naming != Naming::Never) parse_attributes(declarator.attributes);
  } else if (is(Word::LeftParen) && naming == Naming::Never &&
             (word(1) == Word::RightParen || begins_parameter(index_ + 1))) {
    declarator.type = parse_function_type(declarator.type);
  }
  return declarator;
}

bool ParserImpl::at_nested_declarator() const {
  const Word next = word(1);
  return next == Word::Star || next == Word::Amp || next == Word::AmpAmp ||
         (is_name(next) && word(2) == Word::Scope && word(3) == Word::Star) ||
         (is_name(next) && word(2) == Word::RightParen && word(3) == Word::LeftParen);
}

const ast::TypeName* ParserImpl::parse_pointers(const ast::TypeName* base) {
  for (int count = 0;; ++count) {
    ast::TypeForm form = ast::TypeForm::Pointer;
    if (is(Word::Amp)) {
      form = ast::TypeForm::Reference;
    } else if (is(Word::AmpAmp)) {
      form = ast::TypeForm::RvalueReference;
    } else if (!is(Word::Star)) {
      if (is_name(word()) && word(1) == Word::Scope && word(2) == Word::Star) refuse("pointers to members are");
      return base;
    }
    if (count == kMaxNesting) fail(base::format("more than {} pointers to pointers", kMaxNesting));
    ast::TypeName& type = tree_.make_type();
    type.form = form;
    type.at = at();
    type.inner = base;
    advance();
    while (parse_qualifier(type.is_const, type.space)) {
    }
    base = &type;
  }
}

const ast::TypeName* ParserImpl::parse_arrays(const ast::TypeName* element) {
  if (!is(Word::LeftBracket) || at_attributes()) return element;
  const Nesting nesting(*this);
  ast::TypeName& type = tree_.make_type();
  type.form = ast::TypeForm::Array;
  type.at = at();
  advance();
  if (!is(Word::RightBracket)) {
    const Keep<bool> outside(in_template_arguments_, false);
    type.expression = parse_conditional();
  }
  expect(Word::RightBracket, "after the size of the array");
  type.inner = parse_arrays(element);
  return &type;
}

const ast::TypeName* ParserImpl::parse_function_type(const ast::TypeName* result) {
  const Nesting nesting(*this);
  ast::TypeName& type = tree_.make_type();
  type.form = ast::TypeForm::Function;
  type.at = at();
  type.inner = result;
  const Keep<NameScope*> inside(scope_, names_.open(NameScope::Kind::Block, scope_));
  ast::Declaration& function = tree_.make_declaration();
  parse_parameters(function);
  for (const ast::Declaration* parameter : function.parameters) {
    if (parameter->is_variadic) {
      ast::TypeName expansion = *parameter->type;
      expansion.is_expansion = true;
      ast::TypeName& kept = tree_.make_type();
      kept = std::move(expansion);
      type.parameters.push_back(&kept);
    } else {
      type.parameters.push_back(parameter->type);
    }
  }
  return &type;
}

}  // namespace kymo::shader
