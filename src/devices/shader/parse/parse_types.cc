// Names with their scopes and template arguments, types and the other specifiers, declarators.

#include "base/text.h"
#include "shader/parse/parser_impl.h"

namespace kymo::shader {

bool ParserImpl::is_number_word(Word word) {
  switch (word) {
    case Word::Unsigned:
    case Word::Signed:
    case Word::Short:
    case Word::Long:
    case Word::Int:
    case Word::Char:
    case Word::Double:
      return true;
    default:
      return false;
  }
}

// ---- Heads ---------------------------------------------------------------------------------------------------------

bool ParserImpl::at_head() const {
  const Word next = word();
  return is_name(next) || is_number_word(next) || next == Word::Typename || next == Word::Decltype ||
         next == Word::Scope || next == Word::Auto;
}

ParserImpl::Head& ParserImpl::peek_head(bool as_type) {
  if (pending_.begin != index_) {
    const size_t begin = index_;
    Head head = parse_head(as_type);
    index_ = begin;
    pending_ = std::move(head);
  }
  return pending_;
}

ParserImpl::Head ParserImpl::take_head(bool as_type) {
  if (pending_.begin != index_) return parse_head(as_type);
  Head head = std::move(pending_);
  pending_ = Head();
  index_ = head.end;
  return head;
}

ParserImpl::Head ParserImpl::parse_head(bool as_type) {
  Head head;
  head.begin = index_;
  head.at = at();
  if (is_number_word(word())) {
    parse_builtin(head);
  } else if (take(Word::Auto)) {
    head.name.parts.push_back(plain_part("auto", head.at));
    head.is_type = true;
  } else if (is(Word::Typename) && word(1) != Word::Decltype) {
    advance();
    parse_name(head, true);
    head.is_type = true;
    head.is_function = false;
  } else if (is(Word::Decltype) || is(Word::Typename)) {
    const bool after_typename = take(Word::Typename);
    advance();
    expect(Word::LeftParen, "after decltype");
    if (is(Word::Auto)) fail("decltype(auto) is not supported: write auto, auto& or the type");
    const Keep<bool> outside(in_template_arguments_, false);
    head.decltype_of = parse_expression();
    head.is_type = true;
    expect(Word::RightParen, "after the expression of decltype");
    if (is(Word::Scope)) parse_decltype_member(head, as_type || after_typename);
  } else {
    parse_name(head, as_type);
    head.is_type = head.meaning.is_type() && !head.is_function;
  }
  head.end = index_;
  return head;
}

// decltype(x)::a::b. Without `typename` it is a value, unless only a type is allowed, or a name follows it.
void ParserImpl::parse_decltype_member(Head& head, bool as_type) {
  ast::NamePart first = plain_part({}, head.at);
  first.decltype_of = std::exchange(head.decltype_of, nullptr);
  parse_name(head, as_type, true);
  head.name.from_global = false;
  head.name.parts.insert(head.name.parts.begin(), std::move(first));
  head.meaning = {};
  head.is_type = as_type || is_name(word());
}

// The words of a number's type come in any order.
void ParserImpl::parse_builtin(Head& head) {
  int longs = 0;
  bool is_unsigned = false, is_short = false, is_char = false, is_double = false;
  for (; is_number_word(word()); advance()) {
    longs += is(Word::Long) ? 1 : 0;
    is_unsigned |= is(Word::Unsigned);
    is_short |= is(Word::Short);
    is_char |= is(Word::Char);
    is_double |= is(Word::Double);
  }
  std::string_view name = is_unsigned ? "uint" : "int";
  if (longs > 0) name = is_unsigned ? "ulong" : "long";
  if (is_short) name = is_unsigned ? "ushort" : "short";
  if (is_char) name = is_unsigned ? "uchar" : "char";
  if (is_double) name = "double";
  head.name.parts.push_back(plain_part(name, head.at));
  head.meaning.flags = NameMeaning::kType | NameMeaning::kBuiltin;
  head.is_type = true;
}

// ---- a::b<c>::d ----------------------------------------------------------------------------------------------------

void ParserImpl::parse_name(Head& head, bool as_type, bool in_decltype) {
  head.name.from_global = take(Word::Scope);
  head.scope = head.name.from_global && !in_decltype ? names_.global() : nullptr;
  bool in_scope = head.name.from_global;
  for (;;) {
    const bool is_template = in_scope && take(Word::Template);
    head.at = at();
    ast::NamePart part = parse_part(head);
    const bool is_plain = head.last != Word::End;
    if (is_plain) look_up(head, in_scope);
    bool has_arguments = false;
    if (is(Word::Less)) {
      has_arguments = is_template || head.meaning.is_template();
      if (!head.meaning.known() || !is_plain) has_arguments |= as_type || looks_like_arguments(index_);
    }
    if (friend_of_ != nullptr && is_plain && !in_scope) qualify_friend(head, part, has_arguments);
    head.name.parts.push_back(std::move(part));
    if (has_arguments) parse_template_arguments(head.name.parts.back());
    const Word behind = word(1);
    const bool goes_on =
        is_name(behind) || behind == Word::Operator || behind == Word::Tilde || behind == Word::Template;
    // void ::a::f(): a type of the language has no members.
    if (!is(Word::Scope) || !goes_on || head.is_function || head.meaning.is_builtin()) break;
    advance();
    in_scope = true;
    head.scope = head.meaning.members;
  }
  const auto& parts = head.name.parts;
  if (parts.size() > 1 && is(Word::LeftParen) && parts.back().name == parts[parts.size() - 2].name) {
    head.is_function = true;  // S::S(
  }
}

ast::NamePart ParserImpl::plain_part(std::string_view name, const Location& at) {
  ast::NamePart part;
  part.name = name;
  part.at = at;
  return part;
}

ast::NamePart ParserImpl::parse_part(Head& head) {
  ast::NamePart part;
  part.at = at();
  head.last = Word::End;
  if (is_name(word())) {
    part.name = token().text;
    head.last = word();
    advance();
    return part;
  }
  if (is(Word::Operator)) {
    advance();
    parse_operator(part);
  } else if (is(Word::Tilde) && is_name(word(1))) {
    part.name = tree_.keep(base::format("~{}", token_at(index_ + 1).text));
    index_ += 2;
  } else {
    fail_expected("a name");
  }
  head.is_function = true;
  head.meaning = {NameMeaning::kValue | NameMeaning::kFunction};
  return part;
}

void ParserImpl::parse_operator(ast::NamePart& part) {
  switch (word()) {
    case Word::LeftParen:
      advance();
      expect(Word::RightParen, "after \"operator(\"");
      part.name = "operator()";
      return;
    case Word::LeftBracket:
      advance();
      expect(Word::RightBracket, "after \"operator[\"");
      part.name = "operator[]";
      return;
    case Word::New:
    case Word::Delete:
      fail_at_word();
    case Word::String:
      refuse("user-defined literals (operator \"\") are");
    default:
      break;
  }
  if (at_shift_right()) {
    part.name = "operator>>";
    index_ += 2;
  } else if (word() >= Word::Plus && word() <= Word::ShiftRightEqual) {
    part.name = tree_.keep(base::format("operator{}", spelling(word())));
    advance();
  } else if (is(Word::Comma) || is(Word::Arrow)) {
    part.name = is(Word::Comma) ? "operator," : "operator->";
    advance();
  } else {
    part.name = "operator";
    const Specifiers specifiers = parse_specifiers({Place::TypeOnly});
    part.conversion = parse_pointers(specifiers.type);
  }
}

void ParserImpl::look_up(Head& head, bool in_scope) {
  if (!in_scope) {
    head.meaning = names_.find(scope_, head.last);
    packs_seen_ += (head.meaning.flags & NameMeaning::kPack) != 0 ? 1 : 0;
    return;
  }
  head.meaning = head.scope != nullptr ? names_.find_in(head.scope, head.last) : NameMeaning();
  if (head.meaning.known() || head.scope == nullptr || head.scope->kind != NameScope::Kind::Namespace) return;
  // metal::float4: types of the language are in every namespace.
  head.meaning = names_.builtin(head.last);
  if (head.meaning.known()) head.name = ast::Name();
}

// A friend function is in the namespace, where members of the struct need its name before them.
void ParserImpl::qualify_friend(Head& head, ast::NamePart& part, bool has_arguments) {
  for (const StructContext* of = friend_of_; of != nullptr; of = of->outer) {
    const bool is_itself = head.meaning.members == of->scope && of->declaration->is_template && !has_arguments;
    if (!is_itself && head.meaning.home != of->scope) continue;
    for (const StructContext* outer = is_itself ? of->outer : of; outer != nullptr; outer = outer->outer) {
      head.name.parts.insert(head.name.parts.begin(), name_of(*outer, part.at));
    }
    if (is_itself) part = name_of(*of, part.at);
    return;
  }
}

// A struct's name as it is known inside: with its own parameters for arguments.
ast::NamePart ParserImpl::name_of(const StructContext& self, const Location& at) {
  const ast::Declaration& of = *self.declaration;
  if (!of.qualified.parts.empty()) return of.qualified.last();
  ast::NamePart part;
  part.name = of.name;
  part.at = at;
  part.has_arguments = of.is_template;
  for (const ast::TemplateParameter& parameter : of.template_parameters) {
    ast::TemplateArgument& argument = part.arguments.emplace_back();
    argument.is_expansion = parameter.is_pack;
    if (parameter.is_type) {
      argument.type = make_named_type(parameter.name, at);
    } else {
      ast::Expression& value = make_expression(ast::ExpressionKind::Name, at);
      value.name.parts.push_back(plain_part(parameter.name, at));
      argument.value = finish(value);
    }
  }
  return part;
}

ast::Name ParserImpl::parse_member_name() {
  Head head;
  for (;;) {
    const bool is_template = take(Word::Template);
    head.name.parts.push_back(parse_part(head));
    bool has_arguments = is_template && is(Word::Less);
    if (is(Word::Less) && !has_arguments) {
      // The type of the object is not known here: some struct must have such a template.
      const bool may_be = head.last == Word::End || names_.is_member_template(head.last) ||
                          names_.find(scope_, head.last).is_template();
      has_arguments = may_be && looks_like_arguments(index_);
    }
    if (has_arguments) parse_template_arguments(head.name.parts.back());
    if (head.is_function || !is(Word::Scope)) return std::move(head.name);
    advance();
  }
}

// ---- Types ----------------------------------------------------------------------------------------------------------

// Types, and the other specifiers before the declared names.

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
    fail_expected("a type");
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
  if (context.place == Place::Struct && is_name(word()) && word() == struct_->name) {
    const size_t behind = word(1) == Word::Less ? behind_arguments(index_ + 1) : index_ + 1;
    if (word_at(behind) == Word::LeftParen) return false;  // a constructor
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
  if (!is_alphabetic(word())) fail_expected("the name of an attribute");
  attribute.name = token().text;
  advance();
  if (take(Word::Scope)) {
    if (!is_alphabetic(word())) fail_expected("the name of an attribute");
    attribute.name = tree_.keep(base::format("{}::{}", attribute.name, token().text));
    advance();
  }
  if (take(Word::LeftParen)) parse_arguments(attribute.arguments, Word::RightParen, "after the attribute's arguments");
  take(Word::Ellipsis);
  return attribute;
}

// ---- Declarators ----------------------------------------------------------------------------------------------------

// The tokens around a declared name: pointers, references, arrays.

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
      const bool is_constructor = base == nullptr && struct_ != nullptr && word() == struct_->name;
      declarator.name = take_head(false);
      declarator.at = declarator.name.at;
      if (is_constructor && declarator.name.name.parts.size() == 1) {  // S<T>(), which is S()
        declarator.name.name.parts[0] = plain_part(declarator.name.name.parts[0].name, declarator.at);
        declarator.name.last = struct_->name;
      }
    } else if (naming == Naming::Required) {
      fail_expected("a name after the type");
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
