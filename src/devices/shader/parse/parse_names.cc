// Names, with their scopes and template arguments.

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
    fail(base::format("expected a name, found {}", found()));
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

}  // namespace kymo::shader
