// Operators as they are written: overloads first, then those of the language. Assignments become statements.

#include "shader/sema/lowering/lowering.h"

namespace kymo::shader {

namespace {

std::string operators_types(std::span<const Value> operands) {
  std::string text = "(";
  for (const Value& operand : operands) {
    if (text.size() > 1) text += ", ";
    text += operand.type != nullptr ? TypeTable::name(operand.type) : "{...}";
  }
  return text + ")";
}

// Only operands of such types have operators of the source.
bool operators_has_own(std::span<const Value> operands) {
  for (const Value& operand : operands) {
    if (operand.type != nullptr && (operand.type->is_struct() || operand.type->is_enum())) return true;
  }
  return false;
}

bool operators_has_struct(std::span<const Value> operands) {
  for (const Value& operand : operands) {
    if (operand.type != nullptr && operand.type->is_struct()) return true;
  }
  return false;
}

}  // namespace

std::optional<Value> Lowering::overloaded(std::string_view op, std::span<Value> operands, Scope& scope, Location at) {
  if (!operators_has_own(operands)) return std::nullopt;
  const std::string name = "operator" + std::string(op);
  if (operands[0].type != nullptr && operands[0].type->is_struct()) {
    if (Class* owner = types_.class_of(operands[0].type)) {
      OverloadSet members;
      members.name = name;
      if (op != "=") {
        members.candidates = lookup_.find_in(name, *owner->scope);
      } else if (const auto own = owner->scope->symbols.find(name); own != owner->scope->symbols.end()) {
        members.candidates.assign(own->second.begin(), own->second.end());  // the assignment of a base is hidden
      }
      members.at = at;
      if (!members.candidates.empty()) {
        members.object = object_place(operands[0], at);
        if (std::optional<Chosen> chosen = overloads_.try_choose(members, operands.subspan(1))) {
          return call(*chosen, members.object, operands.subspan(1), at);
        }
      }
    }
  }
  if (op == "=" || op == "[]" || op == "()" || op == "->") return std::nullopt;
  OverloadSet set;
  set.name = name;
  set.at = at;
  for (const Symbol* symbol : lookup_.find(name, scope)) {
    if (symbol->kind == Symbol::Kind::Function && symbol->owner == nullptr) set.candidates.push_back(symbol);
  }
  lookup_.add_by_arguments(set, operands);
  if (set.candidates.empty()) return std::nullopt;
  std::optional<Chosen> chosen = overloads_.try_choose(set, operands);
  if (!chosen) return std::nullopt;
  return call(*chosen, std::nullopt, operands, at);
}

Value Lowering::binary_of(std::string_view op, Value left, Value right, Scope& scope, Location at) {
  Value operands[] = {left, right};
  if (std::optional<Value> found = overloaded(op, operands, scope, at)) return *found;
  if (operators_has_struct(operands)) {
    operands[0] = number_of(left, at);
    operands[1] = number_of(right, at);
    if (operators_has_struct(operands)) {
      throw Rejected{at, "no operator" + std::string(op) + " takes " + operators_types(operands)};
    }
  }
  return binary(op, operands[0], operands[1], at);
}

Value Lowering::unary(const ast::Expression& expression, Scope& scope) {
  const std::string_view op = expression.op;
  Value operand = this->expression(*expression.operands[0], scope);
  if (is_void(operand)) throw Rejected{expression.at, "the operand of " + std::string(op) + " is void"};
  if (operand.braces != nullptr) throw Rejected{expression.at, "{...} cannot be the operand of " + std::string(op)};
  const Class* const object = class_named(operand.type);
  if (object != nullptr && object->function != nullptr && (op == "&" || op == "*" || op == "+")) return operand;
  Value operands[] = {operand};
  if (std::optional<Value> found = overloaded(op, operands, scope, expression.at)) return *found;
  if (op == "&") return rvalue(address(operand, expression.at));
  if (op == "*") return pointee(number_of(operand, expression.at), expression.at);
  if (op == "!") {
    const Value value = load(decayed(number_of(operand, expression.at)));
    if (value.type->is_vector()) {
      const ir::Expression* flags =
          as_number(value, table_.with_scalar(value.type, table_.get(TypeKind::Bool)), expression.at);
      return rvalue(build(expression.at).unary(ir::Operator::Not, flags));
    }
    const ir::Expression* flag = truth(value, expression.at, "the operand of !");
    return rvalue(folded(build(expression.at).logical_not(flag)));
  }
  if (op == "++" || op == "--") {
    const Value place = reusable(operand);
    const Value stepped = step(place, op == "++", expression.at);
    assign(place, stepped.ir, expression.at);
    return place;
  }
  if (op == "+" && operand.type->is_array()) return decayed(operand);
  return negated(op, operand, expression.at);
}

Value Lowering::step(const Value& place, bool up, Location at) {
  const Value value = load(place);
  if ((!value.type->is_number() && !value.type->is_pointer()) || value.type->is_enum()) {
    throw Rejected{at, std::string("the operator ") + (up ? "++" : "--") + " does not take " + in_quotes(value.type)};
  }
  const Value stepped = binary(up ? "+" : "-", value, rvalue(build(at).constant_int(1)), at);
  return value.type->is_pointer() ? stepped : rvalue(as_number(stepped, value.type, at));
}

Value Lowering::postfix(const ast::Expression& expression, Scope& scope) {
  Value operand = this->expression(*expression.operands[0], scope);
  if (operand.braces != nullptr || is_void(operand)) {
    throw Rejected{expression.at, "the operator " + std::string(expression.op) + " needs a variable"};
  }
  if (operand.type->is_struct() || operand.type->is_enum()) {
    Value operands[] = {
        operand,
        rvalue(build(expression.at).constant_int(0))};  // the int that distinguishes it from the prefix operator
    if (std::optional<Value> found = overloaded(expression.op, operands, scope, expression.at)) return *found;
    if (std::optional<Value> found = overloaded(expression.op, std::span(operands, 1), scope, expression.at))
      return *found;
  }
  const Value place = reusable(operand);
  Value before = load(place);
  before.ir = settle(before.ir);
  before.promoted = nullptr;
  assign(place, step(before, expression.op == "++", expression.at).ir, expression.at);
  return before;
}

Value Lowering::binary(const ast::Expression& expression, Scope& scope) {
  const std::string_view op = expression.op;
  if (op == "&&" || op == "||") return logical(expression, scope);
  if (op == ",") {
    discard(*expression.operands[0], scope);
    return this->expression(*expression.operands[1], scope);
  }
  Value left = this->expression(*expression.operands[0], scope);
  const size_t since = mark();
  Value right = this->expression(*expression.operands[1], scope);
  if (mark() != since) {
    if (left.type != nullptr && left.type->is_struct()) {
      protect_place(left, since);
    } else {
      protect(left, since);
    }
  }
  return binary_of(op, left, right, scope, expression.at);
}

// The right side is evaluated first, as in C++17.
Value Lowering::assignment(const ast::Expression& expression, Scope& scope) {
  const ast::Expression& target = *expression.operands[0];
  const std::string_view op = expression.op;
  Value right = this->expression(*expression.operands[1], scope);
  if (is_void(right)) throw Rejected{expression.at, "the assigned value is void"};
  const size_t since = mark();
  Value left = target.kind == ast::ExpressionKind::Conditional ? conditional_place(target, scope)
                                                               : this->expression(target, scope);
  if (left.braces != nullptr || is_void(left))
    throw Rejected{target.at, "cannot assign to this: it is not a variable, element or member"};
  if (Value operands[] = {left, right}; operators_has_own(operands)) {
    protect_place(right, since);
    operands[1] = right;
    if (std::optional<Value> found = overloaded(op, operands, scope, expression.at)) return *found;
  }
  protect(right, since);
  if (left.type->is_array()) throw Rejected{expression.at, "cannot assign to an array: assign its elements"};
  if (left.type->is(TypeKind::Atomic)) {
    throw Rejected{expression.at, "cannot assign to " + in_quotes(left.type) + ": use atomic_store_explicit"};
  }
  if (!left.is_place) assign(left, nullptr, expression.at);  // throws the error
  QualifiedType wanted;
  wanted.type =
      left.type->is_vector() && left.type->packed ? table_.vector(left.type->inner, left.type->count) : left.type;
  if (op != "=") {
    left = reusable(left);
    const std::string_view plain = op.substr(0, op.size() - 1);
    if (right.braces != nullptr) throw Rejected{expression.at, "{...} cannot follow " + std::string(op)};
    right = binary_of(plain, left, right, scope, expression.at);
    if (left.type->is_scalar() && right.type->is_vector()) {
      throw Rejected{expression.at, "cannot convert " + in_quotes(right.type) + " to " + in_quotes(left.type)};
    }
    if (right.type->is_number() && wanted.type->is_number() && !wanted.type->is_enum()) {
      assign(left, as_number(right, wanted.type, expression.at), expression.at);
      return left;
    }
  }
  if (op == "=" && right.type == left.type && left.type->is_struct() && has_own_assignment(left.type)) {
    left = freeze(left);
    assign_object(left, freeze(object_place(right, expression.at)), scope, expression.at);
    return left;
  }
  const size_t before = mark();
  const ir::Expression* value = right.type == wanted.type && wanted.type->is_struct()
                                    ? read(right)  // an assignment of all members, not a new object
                                    : convert(right, wanted, expression.at, "the assigned value");
  if (mark() != before) left = freeze(left);
  if (!copy_by_elements(left, value, expression.at)) assign(left, value, expression.at);
  return left;
}

// *(threadgroup S*)p = *(const device S*)q, where p and q point to numbers of one type: wide loads, as kernels write
// them. Vulkan cannot convert such pointers, so the numbers are copied one by one there.
bool Lowering::copy_by_elements(const Value& place, const ir::Expression* value, Location at) {
  constexpr uint64_t kMaxElements = 64;
  if (options_.target != Target::Glsl || !place.type->is_struct() || place.is_const) return false;
  const auto numbers = [](const ir::Expression& whole) -> const ir::Expression* {
    if (whole.kind != ir::ExpressionKind::Dereference || whole.operands[0]->kind != ir::ExpressionKind::PointerCast)
      return nullptr;
    const ir::Expression* pointer = whole.operands[0]->operands[0];
    return pointer->type->is_pointer() && pointer->type->inner->is_number() ? pointer : nullptr;
  };
  const ir::Expression* to = numbers(*place.ir);
  const ir::Expression* from = numbers(*value);
  if (to == nullptr || from == nullptr || to->type->inner != from->type->inner) return false;
  const uint64_t each = to->type->inner->size;
  if (place.type->size % each != 0 || place.type->size / each > kMaxElements) return false;
  to = settle(to);
  from = settle(from);
  for (uint64_t i = 0; i < place.type->size / each; ++i) {
    const ir::Expression* index = build(at).constant_int(static_cast<int64_t>(i));
    assign(place_at(build(at).pointer_add(to, index), false), read(place_at(build(at).pointer_add(from, index), true)),
           at);
  }
  return true;
}

}  // namespace kymo::shader
