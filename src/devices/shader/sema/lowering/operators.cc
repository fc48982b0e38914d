// Operators as they are written: overloads first, then those of the language. Assignments become statements.

#include "shader/ir/evaluate.h"
#include "shader/ir/scalar.h"
#include "shader/sema/context.h"
#include "shader/sema/lowering/lowering.h"

namespace kymo::shader {

namespace {

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
      OverloadSet members{.name = name, .at = at};
      const auto own = owner->scope->own(name);
      if (op == "=")
        members.candidates.assign(own.begin(), own.end());  // the assignment of a base is hidden
      else
        members.candidates = lookup_.find_in(name, *owner->scope);
      if (!members.candidates.empty()) {
        members.object = object_place(operands[0], at);
        if (std::optional<Chosen> chosen = overloads_.try_choose(members, operands.subspan(1))) {
          return call(*chosen, members.object, operands.subspan(1), at);
        }
      }
    }
  }
  if (op == "=" || op == "[]" || op == "()" || op == "->") return std::nullopt;
  OverloadSet set{.name = name, .at = at};
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
      throw Rejected{at, "no operator" + std::string(op) + " takes " + types_of(operands)};
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
  if (op == "&") {
    Value pointer = rvalue(address(operand, expression.at));
    pointer.is_constant = operand.is_constant;
    return pointer;
  }
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
  const QualifiedType wanted{.type = plain(left.type)};
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

// ---- Numbers and pointers -------------------------------------------------------------------------------------------

// Operators of numbers and pointers. Scalars follow the usual conversions of C++. A scalar next to a vector becomes a
// vector. half and bfloat are computed in float and rounded after every operation.

namespace {

std::optional<ir::Operator> arithmetic_operator(std::string_view op) {
  using ir::Operator;
  static constexpr std::pair<std::string_view, Operator> kOperators[] = {
      {"+", Operator::Add},           {"-", Operator::Subtract},   {"*", Operator::Multiply},
      {"/", Operator::Divide},        {"%", Operator::Remainder},  {"<<", Operator::ShiftLeft},
      {">>", Operator::ShiftRight},   {"&", Operator::And},        {"|", Operator::Or},
      {"^", Operator::Xor},           {"==", Operator::Equal},     {"!=", Operator::NotEqual},
      {"<", Operator::Less},          {"<=", Operator::LessEqual}, {">", Operator::Greater},
      {">=", Operator::GreaterEqual},
  };
  for (const auto& [name, known] : kOperators) {
    if (name == op) return known;
  }
  return std::nullopt;
}

}  // namespace

const ir::Expression* Lowering::folded(const ir::Expression* expression) { return ir::fold_node(module_, *expression); }

const ir::Expression* Lowering::as_number(const Value& value, const Type* to, Location at) {
  const Value loaded = load(value);
  if (!loaded.type->is_number())
    throw Rejected{at, "cannot convert " + in_quotes(loaded.type) + " to " + in_quotes(to)};
  if (to->is_vector() && loaded.type->is_scalar()) {
    return build(at).splat(convert_number(loaded.ir, to->inner, at), to->count);
  }
  return convert_number(loaded.ir, to, at);
}

const ir::Expression* Lowering::truth(const Value& value, Location at, std::string_view what) {
  if (value.type == table_.get(TypeKind::Bool)) return read(value);
  if (value.type != nullptr && value.type->is_vector()) {
    throw Rejected{at,
                   std::string(what) + " must be one bool, and is " + in_quotes(value.type) + ": use any() or all()"};
  }
  const Value number = value.braces != nullptr ? value : decayed(value);
  return convert(number, {.type = table_.get(TypeKind::Bool)}, at, what);
}

Value Lowering::number_of(const Value& value, Location at) {
  if (value.braces != nullptr) throw Rejected{value.braces->at, "{...} has no type here: write the type before it"};
  if (value.type->is_enum() && !value.type->is_scoped)
    return rvalue(convert_number(read(value), value.type->underlying, at));
  if (!value.type->is_struct()) return value;
  Class* owner = types_.class_of(value.type);
  if (owner == nullptr) return value;
  // The conversion to a number or pointer that an operator would call.
  OverloadSet set{.name = "operator", .at = at};
  for (const Symbol* symbol : lookup_.find_in("operator", *owner->scope)) {
    if (symbol->kind != Symbol::Kind::Function || symbol->declaration->is_template || symbol->declaration->is_explicit)
      continue;
    if (!set.object) set.object = object_place(value, at);
    set.candidates = {symbol};
    const std::optional<Chosen> chosen = overloads_.try_choose(set, {});
    if (!chosen) continue;
    const Type* result = chosen->instance->result;
    if (result == nullptr || !(result->is_number() || result->is_pointer())) continue;
    return call(*chosen, set.object, {}, at);
  }
  return value;
}

Value Lowering::negated(std::string_view op, const Value& operand, Location at) {
  const Value value = load(number_of(operand, at));
  const auto refuse = [&]() {
    return Rejected{at, "the operator " + std::string(op) + " does not take " + in_quotes(value.type)};
  };
  if (!value.type->is_number() || (value.type->is_vector() && value.type->inner->is(TypeKind::Bool)) ||
      value.type->is_enum())
    throw refuse();
  if (op == "~" && value.type->scalar()->is_floating()) throw refuse();
  const Type* type = value.type->is_scalar() && value.type->size < 4 && !value.type->is_floating()
                         ? table_.get(TypeKind::Int)
                         : value.type;
  const ir::Expression* number = convert_number(value.ir, type, at);
  if (op == "+") return rvalue(number);
  const ir::Operator which = op == "-" ? ir::Operator::Negate : ir::Operator::Complement;
  if (!is_small_float(type)) return rvalue(folded(build(at).unary(which, number)));
  const Type* wide = table_.with_scalar(type, table_.get(TypeKind::Float));
  const ir::Expression* made = folded(build(at).unary(which, convert_number(number, wide, at)));
  return rvalue(convert_number(made, type, at));
}

Value Lowering::binary(std::string_view op, Value left, Value right, Location at) {
  left = decayed(number_of(left, at));
  right = decayed(number_of(right, at));
  if (is_void(left) || is_void(right)) throw Rejected{at, "an operand of " + std::string(op) + " is void"};
  if (left.type->is_pointer() || right.type->is_pointer()) return pointer_operation(op, left, right, at);
  left = load(left);
  right = load(right);
  if (!left.type->is_number() || !right.type->is_number()) {
    throw Rejected{at, "no operator" + std::string(op) + " takes " + types_of({left, right})};
  }
  if (left.type->is_enum() || right.type->is_enum()) {  // enum class: the language only compares its values
    const std::optional<ir::Operator> which = arithmetic_operator(op);
    if (left.type != right.type || !which || !ir::is_comparison(*which))
      throw Rejected{at, "no operator" + std::string(op) + " takes " + types_of({left, right}) +
                             ": convert an enum class to a number, or define the operator"};
  }
  return op == "<<" || op == ">>" ? shift(op, left, right, at) : arithmetic(op, left, right, at);
}

Value Lowering::arithmetic(std::string_view op, const Value& left, const Value& right, Location at) {
  const std::optional<ir::Operator> which = arithmetic_operator(op);
  if (!which) throw Rejected{at, "the operator " + std::string(op) + " is not supported"};
  const Type* bool_type = table_.get(TypeKind::Bool);
  const bool is_bitwise = op == "&" || op == "|" || op == "^";
  const bool is_comparison = ir::is_comparison(*which);
  // Bools stay bools in & | ^. C++ converts them to int and the result back to bool.
  const bool is_logic = left.type->scalar() == bool_type && right.type->scalar() == bool_type &&
                        (is_bitwise || op == "==" || op == "!=") &&
                        (left.type == right.type || left.type->is_scalar() || right.type->is_scalar());
  const Type* type =
      is_logic ? (left.type->is_vector() ? left.type : right.type) : types_.common_type(left.type, right.type, at);
  const bool is_bool_vector = type->is_vector() && type->inner == bool_type;
  if ((type->scalar()->is_floating() && (is_bitwise || op == "%")) || (is_bool_vector && !is_logic)) {
    throw Rejected{
        at, "no operator" + std::string(op) + " takes " + types_of({left, right}) + (op == "%" ? ": use fmod()" : "")};
  }
  const Type* wide = is_small_float(type) ? table_.with_scalar(type, table_.get(TypeKind::Float)) : type;
  const ir::Expression* a = as_number(left, type, at);
  const ir::Expression* b = as_number(right, type, at);
  a = convert_number(a, wide, at);
  b = convert_number(b, wide, at);
  const ir::Expression* made = folded(build(at).binary(*which, a, b));
  if (is_comparison) return rvalue(made);
  return rvalue(convert_number(made, type, at), type);
}

Value Lowering::shift(std::string_view op, const Value& left, const Value& right, Location at) {
  if (left.type->scalar()->is_floating() || right.type->scalar()->is_floating() ||
      (left.type->is_vector() && left.type->inner->is(TypeKind::Bool)) ||
      (right.type->is_vector() && right.type->inner->is(TypeKind::Bool)) ||
      (left.type->is_vector() && right.type->is_vector() && left.type->count != right.type->count)) {
    throw Rejected{at, "no operator" + std::string(op) + " takes " + types_of({left, right})};
  }
  const auto widened = [&](const Type* type) {
    return type->is_scalar() && type->size < 4 ? table_.get(TypeKind::Int) : type;
  };
  const Type* type = widened(left.type);
  if (right.type->is_vector() && !type->is_vector()) type = table_.with_scalar(right.type, type);
  const ir::Expression* value = as_number(left, type, at);
  const ir::Expression* amount = as_number(right, widened(right.type), at);
  // Metal takes the amount modulo the width.
  const uint64_t most = type->scalar()->size * 8 - 1;
  if (amount->kind == ir::ExpressionKind::Constant) {
    amount = build(at).constant(amount->type, amount->bits & most);
  } else {
    const ir::Expression* mask = build(at).constant_uint(most, amount->type->scalar()->kind);
    if (amount->type->is_vector()) mask = build(at).splat(mask, amount->type->count);
    amount = build(at).binary(ir::Operator::And, amount, mask);
  }
  if (type->is_vector() && !amount->type->is_vector()) amount = build(at).splat(amount, type->count);
  const ir::Operator which = op == "<<" ? ir::Operator::ShiftLeft : ir::Operator::ShiftRight;
  return rvalue(folded(build(at).binary(which, value, amount)));
}

Value Lowering::pointer_operation(std::string_view op, const Value& given_left, const Value& given_right, Location at) {
  Value left = load(given_left), right = load(given_right);
  const auto refuse = [&]() {
    return Rejected{at, "no operator" + std::string(op) + " takes " + types_of({given_left, given_right})};
  };
  if (op == "+" && right.type->is_pointer()) std::swap(left, right);
  if ((op == "+" || op == "-") && left.type->is_pointer() &&
      (right.type->is_integer() || right.type->is(TypeKind::Bool))) {
    const ir::Expression* offset = right.ir;
    if (offset->type->size < 4) offset = convert_number(offset, table_.get(TypeKind::Int), at);
    if (op == "-") {
      // An unsigned offset is converted to a signed type before it is negated.
      if (offset->type->is(TypeKind::UInt)) offset = convert_number(offset, table_.get(TypeKind::Long), at);
      offset = folded(build(at).unary(ir::Operator::Negate, offset));
    }
    return rvalue(build(at).pointer_add(left.ir, offset), left.type);
  }
  const std::optional<ir::Operator> which = arithmetic_operator(op);
  if (!which) throw refuse();
  const bool is_comparison = ir::is_comparison(*which);
  if (left.is_null && right.type->is_pointer()) left = rvalue(build(at).null(right.type));
  if (right.is_null && left.type->is_pointer()) right = rvalue(build(at).null(left.type));
  if (is_comparison && left.is_literal_zero && right.type->is_pointer()) left = rvalue(build(at).null(right.type));
  if (is_comparison && right.is_literal_zero && left.type->is_pointer()) right = rvalue(build(at).null(left.type));
  if (!left.type->is_pointer() || !right.type->is_pointer()) throw refuse();
  if (left.type->space != right.type->space && left.ir->kind != ir::ExpressionKind::Null) throw refuse();
  // Whether they are const makes no difference.
  const ir::Expression* b = build(at).pointer_cast(left.type, right.ir);
  if (op == "-") {
    if (left.type->inner != right.type->inner) throw refuse();
    return rvalue(build(at).pointer_difference(left.ir, b));
  }
  if (!is_comparison) throw refuse();
  ir::Expression& made = module_.make_expression(ir::ExpressionKind::Binary, table_.get(TypeKind::Bool), at);
  made.op = *which;
  made.operands = {left.ir, b};
  return rvalue(&made);
}

// ---- Choices --------------------------------------------------------------------------------------------------------

// && || ?: and folds: operands that are evaluated only if they are needed.
//
// If such an operand needs no statements, it stays an expression. Otherwise the choice becomes an if and a temporary.

// && and || with a left value, and a right one that is lowered only if it is needed.
template <typename Right>
Value Lowering::short_circuit(std::string_view op, const Value& left, Right right, Location at) {
  const bool is_and = op == "&&";
  if (left.type->is_vector()) {  // componentwise: both sides are evaluated
    const Value other = right();
    const Type* flags = table_.with_scalar(left.type, table_.get(TypeKind::Bool));
    return arithmetic(is_and ? "&" : "|", rvalue(as_number(left, flags, at)), rvalue(as_number(other, flags, at)), at);
  }
  const ir::Expression* first = truth(left, at, is_and ? "the left side of &&" : "the left side of ||");
  if (first->kind == ir::ExpressionKind::Constant && (first->bits != 0) != is_and) return rvalue(first);
  ir::Block block;
  const ir::Expression* second = nullptr;
  {
    const Into into(*this, block);
    const Value other = right();
    if (other.type != nullptr && other.type->is_vector()) {
      const Type* flags = table_.with_scalar(other.type, table_.get(TypeKind::Bool));
      const Value all = rvalue(build(at).splat(first, other.type->count));
      const Value both = arithmetic(is_and ? "&" : "|", all, rvalue(as_number(other, flags, at)), at);
      if (!block.empty())
        throw Rejected{at, "a vector behind " + std::string(op) + " must have no effects: use a variable"};
      return both;
    }
    second = truth(other, at, is_and ? "the right side of &&" : "the right side of ||");
  }
  if (first->kind == ir::ExpressionKind::Constant) {  // it does not decide
    body_.block->insert(body_.block->end(), block.begin(), block.end());
    return rvalue(second);
  }
  if (block.empty()) return rvalue(is_and ? build(at).logical_and(first, second) : build(at).logical_or(first, second));
  ir::Variable& result = local(is_and ? "both" : "either", table_.get(TypeKind::Bool), first, at);
  const ir::Expression* so_far = build(at).variable(result);
  block.push_back(build_.assign(so_far, second));
  emit(build_.if_(is_and ? so_far : build_.logical_not(so_far), std::move(block)));
  settled_.insert(&result);
  return rvalue(so_far);
}

Value Lowering::logical(const ast::Expression& expression, Scope& scope) {
  Value left = this->expression(*expression.operands[0], scope);
  if (left.braces != nullptr || is_void(left))
    throw Rejected{expression.at, "the left side of " + std::string(expression.op) + " has no value"};
  if (left.type->is_vector()) {
    const size_t since = mark();
    Value right = this->expression(*expression.operands[1], scope);
    protect(left, since);
    return short_circuit(
        expression.op, left, [&] { return right; }, expression.at);
  }
  if (left.type->is_struct() || left.type->is_enum()) {
    Value operands[] = {left, Value()};
    const std::string name = "operator" + std::string(expression.op);
    if (!lookup_.find(name, scope).empty() ||
        (left.type->is_struct() && !lookup_.find_in(name, *types_.class_of(left.type)->scope).empty())) {
      operands[1] = this->expression(*expression.operands[1], scope);
      if (std::optional<Value> found = overloaded(expression.op, operands, scope, expression.at)) return *found;
      return short_circuit(
          expression.op, left, [&] { return operands[1]; }, expression.at);
    }
  }
  return short_circuit(
      expression.op, left, [&] { return this->expression(*expression.operands[1], scope); }, expression.at);
}

// ---- ? : -----------------------------------------------------------------------------------------------------------

Value Lowering::conditional(const ast::Expression& expression, Scope& scope) {
  const Value chooses = this->expression(*expression.operands[0], scope);
  if (chooses.type != nullptr && chooses.type->is_vector()) {
    throw Rejected{expression.at, "the condition of ?: must be one bool, and is " + in_quotes(chooses.type) +
                                      ": use select(if_false, if_true, condition)"};
  }
  const ir::Expression* condition = truth(chooses, expression.operands[0]->at, "the condition of ?:");
  ir::Block blocks[2];
  Value values[2];
  // If the condition is constant, only one side is lowered; the other only gives its type, if it has one.
  const bool is_known = condition->kind == ir::ExpressionKind::Constant;
  for (int side = 0; side < 2; ++side) {
    const ast::Expression& operand = *expression.operands[static_cast<size_t>(side) + 1];
    const bool is_left_out = is_known && (condition->bits != 0) == (side == 1);
    const Into into(*this, blocks[side]);
    if (!is_left_out) {
      values[side] = this->expression(operand, scope);
      continue;
    }
    const Restore<bool> restore(body_.is_unevaluated);
    const Restore<bool> effects(body_.has_effects);
    body_.is_unevaluated = true;
    try {
      values[side] = this->expression(operand, scope);
    } catch (const Rejected&) {
      values[side] = Value();
    }
  }
  for (int side = 0; side < 2 && is_known; ++side) {
    if ((condition->bits != 0) == (side == 0) && values[1 - side].type == nullptr &&
        values[1 - side].braces == nullptr) {
      body_.block->insert(body_.block->end(), blocks[side].begin(), blocks[side].end());
      return values[side];
    }
  }
  return choose_value(condition, values[0], values[1], std::move(blocks[0]), std::move(blocks[1]), expression.at);
}

Value Lowering::choose_value(const ir::Expression* condition, Value if_true, Value if_false, ir::Block true_block,
                             ir::Block false_block, Location at) {
  Value* sides[] = {&if_true, &if_false};
  ir::Block* blocks[] = {&true_block, &false_block};
  const bool is_known = condition->kind == ir::ExpressionKind::Constant;
  if (is_void(if_true) || is_void(if_false)) {
    if (!is_void(if_true) || !is_void(if_false)) throw Rejected{at, "one side of ?: is void, the other is not"};
    emit(build(at).if_(condition, std::move(true_block), std::move(false_block)));
    return if_true;
  }
  // The common type of both sides.
  QualifiedType common;
  for (int side = 0; side < 2; ++side) {
    const Into into(*this, *blocks[side]);
    if (sides[side]->braces == nullptr) *sides[side] = decayed(*sides[side]);
  }
  const Type* a = if_true.type;
  const Type* b = if_false.type;
  if (if_true.braces != nullptr && if_false.braces != nullptr)
    throw Rejected{at, "both sides of ?: are {...}: write the type before one"};
  if (if_true.braces != nullptr || if_true.is_null || (if_true.is_literal_zero && b->is_pointer())) {
    common.type = plain(b);
  } else if (if_false.braces != nullptr || if_false.is_null || (if_false.is_literal_zero && a->is_pointer())) {
    common.type = plain(a);
  } else if (plain(a) == plain(b)) {
    common.type = plain(a);
  } else if (a->is_number() && b->is_number()) {
    common.type = types_.common_type(plain(a), plain(b), at);
  } else if (a->is_pointer() && b->is_pointer() && a->space == b->space && a->inner == b->inner) {
    common.type = table_.pointer(a->inner, a->space, true);
  } else {
    const bool a_to_b = overloads_.rank(if_true, {.type = b}) != Rank::Impossible,
               b_to_a = overloads_.rank(if_false, {.type = a}) != Rank::Impossible;
    if (a_to_b == b_to_a) {
      throw Rejected{
          at, "the sides of ?: are " + in_quotes(a) + " and " + in_quotes(b) + ": convert one to the other's type"};
    }
    common.type = a_to_b ? b : a;
  }
  const ir::Expression* values[2] = {};
  for (int side = 0; side < 2; ++side) {
    if (is_known && (condition->bits != 0) == (side == 1)) continue;
    const Into into(*this, *blocks[side]);
    values[side] = convert(*sides[side], common, at, "a side of ?:");
  }
  if (is_known) {
    const int side = condition->bits != 0 ? 0 : 1;
    body_.block->insert(body_.block->end(), blocks[side]->begin(), blocks[side]->end());
    return rvalue(values[side], common.type);
  }
  if (true_block.empty() && false_block.empty()) {
    return rvalue(build(at).conditional(condition, values[0], values[1]), common.type);
  }
  ir::Variable& result = local("choice", common.type, nullptr, at);
  for (int side = 0; side < 2; ++side) {
    blocks[side]->push_back(build(at).assign(build_.variable(result), values[side]));
  }
  emit(build(at).if_(condition, std::move(true_block), std::move(false_block)));
  settled_.insert(&result);
  return rvalue(build(at).variable(result), common.type);
}

// (c ? a : b) = x: by way of pointers.
Value Lowering::conditional_place(const ast::Expression& expression, Scope& scope) {
  const ir::Expression* condition =
      truth(this->expression(*expression.operands[0], scope), expression.at, "the condition of ?:");
  ir::Block blocks[2];
  Value sides[2];
  for (size_t side = 0; side < 2; ++side) {
    const Into into(*this, blocks[side]);
    const Value place = this->expression(*expression.operands[side + 1], scope);
    if (place.braces != nullptr || !place.is_place)
      throw Rejected{expression.at, "the sides of this ?: must be variables"};
    sides[side] = rvalue(address(place, expression.at));
  }
  const Value chosen =
      choose_value(condition, sides[0], sides[1], std::move(blocks[0]), std::move(blocks[1]), expression.at);
  return place_at(chosen.ir, chosen.type->is_const);
}

// ---- Folds ---------------------------------------------------------------------------------------------------------

Value Lowering::fold(const ast::Expression& expression, Scope& scope) {
  const std::string_view op = expression.op;
  const bool has_start = expression.operands.size() == 2;
  bool is_left = expression.fold_left;
  const ast::Expression* packed = expression.operands.back();
  const ast::Expression* start = has_start ? expression.operands[0] : nullptr;
  std::vector<Scope*> elements;
  try {
    elements = templates_.expansions(packed, nullptr, scope, expression.at);
  } catch (const Rejected&) {
    // The grammar does not always show which side is the pack.
    if (!has_start) throw;
    std::swap(packed, start);
    is_left = !is_left;
    elements = templates_.expansions(packed, nullptr, scope, expression.at);
  }
  const ast::Expression& pattern = *packed;
  if (op == ",") {
    Value last;
    last.type = table_.get(TypeKind::Void);
    if (has_start && is_left) discard(*start, scope);
    for (Scope* element : elements) last = this->expression(pattern, *element);
    if (has_start && !is_left) last = this->expression(*start, scope);
    return last;
  }
  if (op == "&&" || op == "||") {
    Value result = rvalue(build(expression.at).constant_bool(op == "&&"));
    if (has_start && is_left) result = this->expression(*start, scope);
    for (Scope* element : elements) {
      result = short_circuit(
          op, result, [&] { return this->expression(pattern, *element); }, expression.at);
    }
    if (has_start && !is_left) {
      result = short_circuit(
          op, result, [&] { return this->expression(*start, scope); }, expression.at);
    }
    return result;
  }
  std::vector<Value> values;
  const auto add = [&](const ast::Expression& operand, Scope& in) {
    const size_t since = mark();
    Value value = this->expression(operand, in);
    for (Value& earlier : values) protect(earlier, since);
    values.push_back(value);
  };
  if (has_start && is_left) add(*start, scope);
  for (Scope* element : elements) add(pattern, *element);
  if (has_start && !is_left) add(*start, scope);
  if (values.empty())
    throw Rejected{expression.at, "a fold over " + std::string(op) + " of an empty pack has no value"};
  if (is_left) {
    Value result = values.front();
    for (size_t i = 1; i < values.size(); ++i) result = binary_of(op, result, values[i], scope, expression.at);
    return result;
  }
  Value result = values.back();
  for (size_t i = values.size() - 1; i-- > 0;) result = binary_of(op, values[i], result, scope, expression.at);
  return result;
}

}  // namespace kymo::shader
