// Types, and the other specifiers before the declared names.

#include "base/text.h"
#include "shader/parse/parser_impl.h"

namespace kymo::shader {

namespace {

std::optional<Space> types_space(Word word) {
  switch (word) {
    case Word::Device:
      return Space::Device;
    case Word::Constant:
      return Space::Constant;
    case Word::Threadgroup:
      return Space::Threadgroup;
    case Word::Thread:
      return Space::Thread;
    default:
      return std::nullopt;
  }
}

}  // namespace

const ast::TypeName* ParserImpl::parse_type(NameScope** members, Declarations* defined) {
  const Specifiers specifiers = parse_specifiers({Place::TypeOnly, defined});
  const Declarator declarator = parse_declarator(specifiers.type, Naming::Never);
  if (members != nullptr && declarator.type == specifiers.type) *members = specifiers.members;
  return declarator.type;
}

ast::TypeName* ParserImpl::make_type(Head head) {
  ast::TypeName& type = tree_.make_type();
  type.at = head.at;
  if (head.decltype_of != nullptr) {
    type.form = ast::TypeForm::Decltype;
    type.expression = head.decltype_of;
  } else {
    type.name = std::move(head.name);
  }
  return &type;
}

ast::TypeName* ParserImpl::make_named_type(std::string_view name, const Location& at) {
  ast::TypeName& type = tree_.make_type();
  type.at = at;
  type.name.parts.push_back(plain_part(name, at));
  return &type;
}

// ---- Specifiers ----------------------------------------------------------------------------------------------------

ParserImpl::Specifiers ParserImpl::parse_specifiers(const Context& context) {
  Specifiers specifiers;
  specifiers.at = at();
  while (parse_specifier(specifiers, context)) {
  }
  if (specifiers.type != nullptr) {
    specifiers.type->is_const |= specifiers.is_const;
    if (specifiers.space) specifiers.type->space = specifiers.space;
  } else if (context.place == Place::TypeOnly || context.place == Place::Parameter) {
    fail(base::format("expected a type, found {}", found()));
  }
  for (const ast::Attribute& attribute : specifiers.attributes) {
    if (attribute.name == "kernel") specifiers.is_kernel = true;
    if (attribute.name == "vertex" || attribute.name == "fragment" || attribute.name == "mesh" ||
        attribute.name == "object" || attribute.name == "intersection") {
      specifiers.other_stage = attribute.name;
    }
  }
  return specifiers;
}

// False: the next token is not a specifier.
bool ParserImpl::parse_specifier(Specifiers& specifiers, const Context& context) {
  if (parse_qualifier(specifiers.is_const, specifiers.space)) return true;
  if (at_attributes() || is(Word::Attribute) || is(Word::Alignas)) {
    parse_attributes(specifiers.attributes);
    return true;
  }
  if (context.place != Place::TypeOnly && parse_storage(specifiers, context)) return true;
  if (specifiers.type != nullptr) return false;
  if (is(Word::Struct) || is(Word::Class) || is(Word::Union)) {
    parse_struct(specifiers, context);
    return true;
  }
  if (is(Word::Enum)) {
    parse_enum(specifiers, context);
    return true;
  }
  if (!at_head()) return false;
  if (context.place == Place::Struct && is_name(word()) && word() == struct_->name && word(1) == Word::LeftParen) {
    return false;  // a constructor
  }
  // In a block the first token was checked already: it is a type, or looks like one.
  const Head& peeked = peek_head(true);
  if (peeked.is_function) return false;
  const bool is_alone = !peeked.is_type && word_at(peeked.end) == Word::LeftParen;
  if (is_alone && context.place == Place::Namespace) {
    fail(base::format("expected a declaration, found \"{}\": is it an undefined macro?", peeked.name.last().name));
  }
  if (is_alone && context.place == Place::Struct) {
    fail(base::format("expected a type before \"{}\"", peeked.name.last().name));
  }
  Head head = take_head(true);
  specifiers.members = head.meaning.members;
  specifiers.type = make_type(std::move(head));
  return true;
}

bool ParserImpl::parse_storage(Specifiers& specifiers, const Context& context) {
  switch (word()) {
    case Word::Typedef:
      specifiers.is_typedef = true;
      break;
    case Word::Static:
      specifiers.is_static = true;
      break;
    case Word::Inline:
      specifiers.is_inline = true;
      break;
    case Word::Constexpr:
      specifiers.is_constexpr = true;
      break;
    case Word::Explicit:
      specifiers.is_explicit = true;
      break;
    case Word::Extern:
    case Word::Register:
      break;
    case Word::Mutable:
      specifiers.is_mutable = true;
      break;
    case Word::Kernel:
    case Word::Vertex:
    case Word::Fragment: {
      // A keyword where a type follows; else a name like any other.
      const bool follows = is_alphabetic(word(1)) || (word(1) == Word::LeftBracket && word(2) == Word::LeftBracket);
      const bool names_it = is_name(word(1)) && (word(2) == Word::LeftParen || word(2) == Word::Less);
      const bool is_late = specifiers.type != nullptr && names_it;  // void kernel f(…)
      if ((specifiers.type != nullptr && !is_late) || !follows || context.place == Place::Parameter) return false;
      specifiers.is_kernel |= is(Word::Kernel);
      if (!is(Word::Kernel)) specifiers.other_stage = token().text;
      break;
    }
    case Word::Friend:
      fail("\"friend\" must be at the start of the declaration");
    case Word::Virtual:
    case Word::ThreadLocal:
    case Word::Concept:
    case Word::Requires:
      fail_at_word();
    default:
      return false;
  }
  advance();
  return true;
}

// Not a keyword: a type or a variable may be called so.
bool ParserImpl::at_coherent() const {
  if (!is(Word::Coherent) || names_.find(scope_, Word::Coherent).known()) return false;
  const bool has_scope = word(1) == Word::LeftParen && is_alphabetic(word(2)) && word(3) == Word::RightParen;
  return is_alphabetic(word(has_scope ? 4 : 1));
}

bool ParserImpl::parse_qualifier(bool& is_const, std::optional<Space>& space) {
  if (take(Word::Const)) {
    is_const = true;
    return true;
  }
  if (take(Word::Volatile) || take(Word::Restrict)) return true;
  if (at_coherent()) {  // all targets read and write device memory so
    advance();
    if (is(Word::LeftParen)) index_ = behind_group(index_);
    return true;
  }
  const std::optional<Space> found_space = types_space(word());
  if (!found_space) return false;
  if (space && *space != *found_space) {
    fail(base::format("\"{}\" contradicts \"{}\": an object is in one address space only", token().text,
                      space_name(*space)));
  }
  space = found_space;
  advance();
  return true;
}

// ---- Attributes ----------------------------------------------------------------------------------------------------

void ParserImpl::parse_attributes(std::vector<ast::Attribute>& into) {
  for (;;) {
    if (at_attributes()) {
      index_ += 2;
      while (!is(Word::RightBracket)) {
        into.push_back(parse_attribute());
        if (!take(Word::Comma)) break;
      }
      expect(Word::RightBracket, "after the attribute");
      expect(Word::RightBracket, "after the attribute");
    } else if (is(Word::Attribute)) {
      parse_gnu_attributes(into);
    } else if (is(Word::Alignas)) {
      ast::Attribute& attribute = into.emplace_back();
      attribute.name = token().text;
      attribute.at = at();
      advance();
      expect(Word::LeftParen, "after alignas");
      const Keep<bool> outside(in_template_arguments_, false);
      if (at_type()) {
        ast::Expression& value = make_expression(ast::ExpressionKind::SizeofType, at());
        value.text = spelling(Word::Alignof);
        value.type = parse_type();
        attribute.arguments.push_back(finish(value));
      } else {
        attribute.arguments.push_back(parse_assignment());
      }
      expect(Word::RightParen, "after the argument of alignas");
    } else {
      return;
    }
  }
}

// __attribute__((always_inline, aligned(16))): those that change a layout count, the others are advice.
void ParserImpl::parse_gnu_attributes(std::vector<ast::Attribute>& into) {
  advance();
  expect(Word::LeftParen, "after __attribute__");
  expect(Word::LeftParen, "after __attribute__");
  while (!is(Word::RightParen) && !is(Word::End)) {
    if (take(Word::Comma)) continue;
    const std::string_view name = token().text;
    if (name == "packed" || name == "__packed__") {
      fail(
          "packed structs (\"__attribute__((packed))\") are not supported: use packed_float3 and its relatives, or "
          "bytes");
    }
    const bool has_value = word(1) == Word::LeftParen;
    if ((name == "aligned" || name == "__aligned__") && has_value) {
      ast::Attribute attribute = parse_attribute();
      attribute.name = spelling(Word::Alignas);
      into.push_back(std::move(attribute));
      continue;
    }
    advance();
    if (has_value) index_ = behind_group(index_);
  }
  expect(Word::RightParen, "after the attribute");
  expect(Word::RightParen, "after the attribute");
}

ast::Attribute ParserImpl::parse_attribute() {
  const Keep<bool> outside(in_template_arguments_, false);
  ast::Attribute attribute;
  attribute.at = at();
  if (!is_alphabetic(word())) fail(base::format("expected the name of an attribute, found {}", found()));
  attribute.name = token().text;
  advance();
  if (take(Word::Scope)) {
    if (!is_alphabetic(word())) fail(base::format("expected the name of an attribute, found {}", found()));
    attribute.name = tree_.keep(base::format("{}::{}", attribute.name, token().text));
    advance();
  }
  if (take(Word::LeftParen)) parse_arguments(attribute.arguments, Word::RightParen, "after the attribute's arguments");
  take(Word::Ellipsis);
  return attribute;
}

}  // namespace kymo::shader
