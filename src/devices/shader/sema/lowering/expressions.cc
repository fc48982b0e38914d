// Expressions become values: the function for each kind, names, arguments.

#include "shader/sema/guards.h"
#include "shader/sema/lowering/lowering.h"

namespace kymo::shader {

namespace {

constexpr uint32_t kExpressionDepth = 250;  // within a function
constexpr uint32_t kWholeDepth = 1500;      // including those of all functions that are being lowered

}  // namespace

Value Lowering::expression(const ast::Expression& expression, Scope& scope) {
  const DepthGuard guard(expression_depth_, kExpressionDepth, expression.at, "the expression");
  const DepthGuard whole(whole_depth_, kWholeDepth, expression.at, "the whole expression");
  context_.spend_step(expression.at);
  using Kind = ast::ExpressionKind;
  switch (expression.kind) {
    case Kind::Integer:
    case Kind::Float:
    case Kind::Character:
    case Kind::String:
    case Kind::Bool:
    case Kind::Nullptr:
      return literal(expression);
    case Kind::Name:
      return name(expression, scope);
    case Kind::Unary:
      return unary(expression, scope);
    case Kind::Postfix:
      return postfix(expression, scope);
    case Kind::Binary:
      return binary(expression, scope);
    case Kind::Assign:
      return assignment(expression, scope);
    case Kind::Conditional:
      return conditional(expression, scope);
    case Kind::Call:
      return call(expression, scope);
    case Kind::Index: {
      Value of = this->expression(*expression.operands[0], scope);
      const size_t since = mark();
      Value index = this->expression(*expression.operands[1], scope);
      protect_place(of, since);
      if (of.braces != nullptr) throw Rejected{expression.at, "{...} cannot be indexed"};
      if (of.type->is_struct()) {
        Value operands[] = {of, index};
        if (std::optional<Value> found = overloaded("[]", operands, scope, expression.at)) return *found;
        throw Rejected{expression.at, in_quotes(of.type) + " has no operator[] that takes " +
                                          (index.type != nullptr ? in_quotes(index.type) : std::string("{...}"))};
      }
      if (index.braces != nullptr) throw Rejected{expression.at, "an index must be an integer"};
      if (of.type->is_integer() && (index.type->is_array() || index.type->is_pointer())) std::swap(of, index);
      return element(of, index, expression.at);
    }
    case Kind::Member:
      return member(expression, scope);
    case Kind::Cast:
      return cast(expression, scope);
    case Kind::Braces: {
      if (expression.type != nullptr) return cast(expression, scope);
      Value value;
      value.braces = &expression;
      value.braces_scope = &scope;
      return value;
    }
    case Kind::Indexed:
      throw Rejected{expression.at, "only elements of an array can be set by their index"};
    case Kind::Lambda:
      return lambda(expression, scope);
    case Kind::SizeofType: {
      const Type* type = types_.resolve(*expression.type, scope).type;
      if (type == nullptr) throw Rejected{expression.at, "sizeof needs a whole type, not auto"};
      if (type->is(TypeKind::Reference)) type = type->inner;
      types_.class_of(type);
      if (expression.text == "offsetof")
        return rvalue(build(expression.at).constant_uint(offset_in(type, expression.name), TypeKind::ULong));
      return rvalue(
          build(expression.at).constant_uint(expression.text == "alignof" ? type->align : type->size, TypeKind::ULong));
    }
    case Kind::SizeofValue: {
      const Type* type = type_of(*expression.operands[0], scope);
      return rvalue(build(expression.at).constant_uint(type->size, TypeKind::ULong));
    }
    case Kind::SizeofPack:
      return rvalue(
          build(expression.at)
              .constant_uint(templates_.pack_size(expression.name.last().name, scope, expression.at), TypeKind::ULong));
    case Kind::TypeTrait:
      return rvalue(build(expression.at).constant_bool(type_trait(expression, scope)));
    case Kind::Fold:
      return fold(expression, scope);
  }
  throw Rejected{expression.at, "this expression is not supported"};
}

uint64_t Lowering::offset_in(const Type* type, const ast::Name& members) {
  uint64_t offset = 0;
  for (const ast::NamePart& part : members.parts) {
    uint32_t index = 0;
    const Field* field = types_.find_field(type, part.name, index);
    if (field == nullptr)
      throw Rejected{part.at, in_quotes(type) + " has no member " + in_quotes(part.name) + " of its own for offsetof"};
    offset += field->offset;
    type = field->type;
  }
  return offset;
}

// ---- Names ---------------------------------------------------------------------------------------------------------

Value Lowering::name(const ast::Expression& expression, Scope& scope) {
  const ast::NamePart& part = expression.name.last();
  const Location at = part.at.line != 0 ? part.at : expression.at;
  if (expression.name.parts.size() == 1 && !expression.name.from_global) {
    if (part.name == "this") {
      if (!body_.self) throw Rejected{at, "there is no \"this\" here: the function is not a member"};
      return rvalue(address(*body_.self, at));
    }
    if (part.name == "__func__" || part.name == "__FUNCTION__" || part.name == "__PRETTY_FUNCTION__") {
      const std::string_view called =
          body_.instance != nullptr && body_.instance->declaration != nullptr ? body_.instance->declaration->name : "";
      const ir::Variable& text = text_constant(called);
      Value value = rvalue(build(at).variable(text));
      value.is_place = value.is_const = true;
      value.space = Space::Program;
      return value;
    }
  }
  const std::vector<const Symbol*> found = lookup_.find(expression.name, scope, at);
  if (found.empty()) {
    if (is_builtin(part.name)) return function_object(expression.name, found, scope, at);
    throw Rejected{at, "there is no name " + in_quotes(part.name) + " here"};
  }
  const Symbol& symbol = *found.front();
  switch (symbol.kind) {
    case Symbol::Kind::Local: {
      if (symbol.value == nullptr) throw Rejected{at, ""};  // its declaration failed, which was reported
      const Value& value = *symbol.value;
      if (value.home != nullptr && value.home != body_.instance && value.is_place && value.space != Space::Program) {
        throw Rejected{at,
                       in_quotes(part.name) + " is a variable of the enclosing function: the lambda must capture it"};
      }
      return value;
    }
    case Symbol::Kind::Enumerator:
      return rvalue(types_.enumerator(symbol, at));
    case Symbol::Kind::Argument:
      if (symbol.argument.kind == TemplateArgument::Kind::Value) {
        return rvalue(symbol.argument.value);
      }
      if (symbol.argument.kind == TemplateArgument::Kind::Pack) {
        throw Rejected{
            at, in_quotes(part.name) + " is a pack: write " + std::string(part.name) + "... where a list is allowed"};
      }
      throw Rejected{at, in_quotes(part.name) + " is a type: a value is needed here"};
    case Symbol::Kind::Variable:
      if (part.has_arguments || symbol.declaration->is_template) {
        return variable_template(symbol, templates_.evaluate_arguments(part.arguments, scope), at);
      }
      if (symbol.owner != nullptr && !symbol.declaration->is_static) {
        if (!body_.is_unevaluated || expression.name.parts.size() == 1) return self_member(symbol, at);
        Value object = unevaluated(symbol.owner->type, at);  // decltype(S::x)
        if (std::optional<Value> found = field_of(object, symbol.name, at)) return *found;
      }
      return variable(symbol, at);
    case Symbol::Kind::LocalPack:
      throw Rejected{
          at, in_quotes(part.name) + " is a pack: write " + std::string(part.name) + "... where a list is allowed"};
    case Symbol::Kind::Function:
      return function_object(expression.name, found, scope, at);
    case Symbol::Kind::Type:
      throw Rejected{at, in_quotes(part.name) + " is a type: a value is needed here"};
    case Symbol::Kind::Namespace:
      throw Rejected{at, in_quotes(part.name) + " is a namespace: a value is needed here"};
  }
  throw Rejected{at, "there is no value " + in_quotes(part.name) + " here"};
}

std::vector<Value> Lowering::arguments(std::span<const ast::Expression* const> list, Scope& scope) {
  std::vector<Value> values;
  values.reserve(list.size());
  const auto add = [&](const ast::Expression& item, Scope& in) {
    const size_t since = mark();
    Value value = expression(item, in);
    if (is_void(value)) throw Rejected{item.at, "an argument is void: a value is needed here"};
    protect_places(values, since);
    values.push_back(value);
  };
  for (const ast::Expression* item : list) {
    if (!item->is_expansion) {
      add(*item, scope);
      continue;
    }
    for (Scope* element : templates_.expansions(item, nullptr, scope, item->at)) add(*item, *element);
  }
  return values;
}

const Type* Lowering::type_of(const ast::Expression& expression, Scope& scope, bool* is_place) {
  const Restore<Body> restore(body_);
  ir::Block thrown_away;
  body_.block = &thrown_away;
  body_.is_unevaluated = true;
  const Value value = this->expression(expression, scope);
  if (value.braces != nullptr || value.type == nullptr) throw Rejected{expression.at, "{...} has no type here"};
  if (is_place != nullptr) *is_place = value.is_place;
  return value.type;
}

}  // namespace kymo::shader
