#include "shader/ir/build.h"

#include <unordered_map>
#include <utility>

#include "shader/ir/scalar.h"

namespace kymo::shader::ir {

const Type* intrinsic_type(TypeTable& types, Intrinsic intrinsic, const Operands& operands) {
  const Type* first = operands.empty() ? nullptr : operands[0]->type;
  if (intrinsic <= Intrinsic::Fma) return first;
  if (intrinsic <= Intrinsic::IsInf)
    return first == nullptr ? nullptr : types.with_scalar(first, types.get(TypeKind::Bool));
  if (intrinsic <= Intrinsic::MulHi || intrinsic == Intrinsic::Select) return first;
  if (intrinsic <= Intrinsic::All) return types.get(TypeKind::Bool);
  if (intrinsic == Intrinsic::AtomicStore) return types.get(TypeKind::Void);
  if (intrinsic <= Intrinsic::AtomicMax)
    return first != nullptr && first->is_pointer() && first->inner->is(TypeKind::Atomic) ? first->inner->inner
                                                                                         : nullptr;
  if (intrinsic <= Intrinsic::Fence) return types.get(TypeKind::Void);
  if (intrinsic < Intrinsic::SimdBallot) return first;
  if (intrinsic == Intrinsic::SimdBallot || intrinsic >= Intrinsic::SimdLane) return types.get(TypeKind::UInt);
  if (intrinsic == Intrinsic::GroupAny) return types.get(TypeKind::Bool);
  return types.vector(types.get(TypeKind::UInt), 3);
}

Expression& Builder::make(ExpressionKind kind, const Type* type, Values operands) {
  Expression& made = module_.make_expression(kind, type, at);
  made.operands = std::move(operands);
  return made;
}

// ---- Values --------------------------------------------------------------------------------------------------------

Builder::Value Builder::constant(const Type* scalar, uint64_t bits) {
  Expression& made = make(ExpressionKind::Constant, scalar);
  made.bits = bits;
  return &made;
}

Builder::Value Builder::constant_int(int64_t value, TypeKind kind) {
  return constant(type(kind), scalar_normalized(kind, static_cast<uint64_t>(value)));
}

Builder::Value Builder::constant_uint(uint64_t value, TypeKind kind) {
  return constant(type(kind), scalar_normalized(kind, value));
}

Builder::Value Builder::constant_float(float value, TypeKind kind) {
  return constant(type(kind), scalar_converted(TypeKind::Float, kind, bits_of(value)));
}

Builder::Value Builder::constant_bool(bool value) { return constant(type(TypeKind::Bool), value ? 1 : 0); }

Builder::Value Builder::null(const Type* pointer) { return &make(ExpressionKind::Null, pointer); }

Builder::Value Builder::zero(const Type* wanted) {
  if (wanted->is_scalar()) return constant(wanted, 0);
  if (wanted->is_pointer()) return null(wanted);
  return &make(ExpressionKind::Zero, wanted);
}

Builder::Value Builder::variable(const Variable& named) {
  Expression& made = make(ExpressionKind::Variable, named.type);
  made.variable = &named;
  return &made;
}

Builder::Value Builder::unary(Operator op, Value operand) {
  Expression& made = make(ExpressionKind::Unary, operand->type, {operand});
  made.op = op;
  return &made;
}

Builder::Value Builder::binary(Operator op, Value left, Value right) {
  const Type* result = left->type;
  if (is_comparison(op)) result = types().with_scalar(left->type, type(TypeKind::Bool));
  Expression& made = make(ExpressionKind::Binary, result, {left, right});
  made.op = op;
  return &made;
}

Builder::Value Builder::logical_and(Value left, Value right) {
  return &make(ExpressionKind::LogicalAnd, type(TypeKind::Bool), {left, right});
}

Builder::Value Builder::logical_or(Value left, Value right) {
  return &make(ExpressionKind::LogicalOr, type(TypeKind::Bool), {left, right});
}

Builder::Value Builder::logical_not(Value operand) { return unary(Operator::Not, operand); }

Builder::Value Builder::conditional(Value condition, Value if_true, Value if_false) {
  return &make(ExpressionKind::Conditional, if_true->type, {condition, if_true, if_false});
}

Builder::Value Builder::convert(const Type* to, Value value) {
  const Type* from = value->type;
  if (from == to) return value;
  if (value->kind == ExpressionKind::Constant && to->is_scalar())
    return constant(to, scalar_converted(from->kind, to->kind, value->bits));
  const auto is_small = [](const Type* number) {
    return number->scalar()->is(TypeKind::Half) || number->scalar()->is(TypeKind::BFloat);
  };
  // A packed vector changes its scalar as a plain one only.
  const Type* plain_from = types().with_scalar(from, from->scalar());
  const Type* plain_to = types().with_scalar(to, to->scalar());
  if (plain_from != from) return convert(to, &make(ExpressionKind::Convert, plain_from, {value}));
  if (plain_to != to && plain_to != from) value = convert(plain_to, value);
  if (plain_to == to && ((is_small(to) && !from->scalar()->is(TypeKind::Float)) ||
                         (is_small(from) && !to->scalar()->is(TypeKind::Float)))) {
    value = convert(types().with_scalar(from, type(TypeKind::Float)), value);
  }
  return &make(ExpressionKind::Convert, to, {value});
}

Builder::Value Builder::splat(Value component, uint32_t count) {
  return &make(ExpressionKind::Splat, types().vector(component->type, count), {component});
}

Builder::Value Builder::construct(const Type* wanted, Values parts) {
  return &make(ExpressionKind::Construct, wanted, std::move(parts));
}

Builder::Value Builder::bitcast(const Type* to, Value value) {
  return value->type == to ? value : &make(ExpressionKind::Bitcast, to, {value});
}

Builder::Value Builder::call(const Function& function, Values arguments) {
  Expression& made = make(ExpressionKind::Call, function.result, std::move(arguments));
  made.function = &function;
  return &made;
}

Builder::Value Builder::intrinsic(Intrinsic intrinsic, Values operands, uint32_t index) {
  const Type* result = intrinsic_type(types(), intrinsic, operands);
  Expression& made = make(ExpressionKind::Intrinsic, result, std::move(operands));
  made.intrinsic = intrinsic;
  made.index = index;
  return &made;
}

// ---- Places and pointers -------------------------------------------------------------------------------------------

Builder::Value Builder::member(Value structure, uint32_t field) {
  Expression& made = make(ExpressionKind::Member, structure->type->fields[field].type, {structure});
  made.index = field;
  return &made;
}

Builder::Value Builder::index(Value array_or_vector, Value position) {
  return &make(ExpressionKind::Index, array_or_vector->type->inner, {array_or_vector, position});
}

Builder::Value Builder::index(Value array_or_vector, int32_t position) {
  return index(array_or_vector, constant_int(position));
}

Builder::Value Builder::swizzle(Value vector, std::string_view components) {
  const auto number = [](char letter) -> uint8_t {
    for (const std::string_view letters : {"xyzw", "rgba"}) {
      const size_t found = letters.find(letter);
      if (found != std::string_view::npos) return static_cast<uint8_t>(found);
    }
    return 0;
  };
  if (components.size() == 1) return index(vector, number(components[0]));
  const auto count = static_cast<uint32_t>(components.size());
  Expression& made = make(ExpressionKind::Swizzle, types().vector(vector->type->inner, count), {vector});
  made.index = count;
  for (size_t i = 0; i < components.size() && i < 4; ++i) made.swizzle[i] = number(components[i]);
  return &made;
}

Builder::Value Builder::deref(Value pointer) {
  if (pointer->kind == ExpressionKind::AddressOf) return pointer->operands[0];
  return &make(ExpressionKind::Dereference, pointer->type->inner, {pointer});
}

Space Builder::space_of(Value place) {
  const Expression& root = place_root(*place);
  return root.kind == ExpressionKind::Variable ? root.variable->space : root.operands[0]->type->space;
}

bool Builder::place_is_const(Value place) const {
  const Expression& root = place_root(*place);
  if (root.kind == ExpressionKind::Variable) return root.variable->space == Space::Program;
  return root.operands[0]->type->is_const;
}

void Builder::note_address(Value place) {
  const Expression& root = place_root(*place);
  if (root.kind == ExpressionKind::Variable) module_.changeable(*root.variable).address_taken = true;
}

Builder::Value Builder::address_of(Value place) {
  if (place->kind == ExpressionKind::Dereference) return place->operands[0];
  const Type* pointer = types().pointer(place->type, space_of(place), place_is_const(place));
  note_address(place);
  return &make(ExpressionKind::AddressOf, pointer, {place});
}

Builder::Value Builder::decay(Value array) {
  const Type* pointer = types().pointer(array->type->inner, space_of(array), place_is_const(array));
  note_address(array);
  return &make(ExpressionKind::Decay, pointer, {array});
}

Builder::Value Builder::pointer_add(Value pointer, Value elements) {
  const bool is_wide = elements->type->size > 4 || elements->type->is(TypeKind::UInt);
  elements = convert(type(is_wide ? TypeKind::Long : TypeKind::Int), elements);
  return &make(ExpressionKind::PointerAdd, pointer->type, {pointer, elements});
}

Builder::Value Builder::pointer_cast(const Type* to, Value value) {
  return value->type == to ? value : &make(ExpressionKind::PointerCast, to, {value});
}

Builder::Value Builder::pointer_difference(Value left, Value right) {
  return &make(ExpressionKind::PointerDifference, type(TypeKind::Long), {left, right});
}

Variable& Builder::local(std::string name, const Type* type) { return module_.make_variable(std::move(name), type); }

Statement& Builder::statement(StatementKind kind, Value value, Block body) {
  Statement& made = module_.make_statement(kind, at);
  made.value = value;
  made.body = std::move(body);
  return made;
}

Statement* Builder::declare(const Variable& variable, Value value) {
  Statement& made = statement(StatementKind::Declare, value);
  made.variable = &variable;
  return &made;
}

Statement* Builder::assign(Value place, Value value) {
  Statement& made = statement(StatementKind::Assign, value);
  made.place = place;
  return &made;
}

Statement* Builder::evaluate(Value value) { return &statement(StatementKind::Evaluate, value); }
Statement* Builder::block(Block body) { return &statement(StatementKind::Block, nullptr, std::move(body)); }

Statement* Builder::if_(Value condition, Block body, Block otherwise) {
  Statement& made = statement(StatementKind::If, condition, std::move(body));
  made.otherwise = std::move(otherwise);
  return &made;
}

Statement* Builder::loop(Value condition, Block body, Block step, Block before) {
  Statement& made = statement(StatementKind::Loop, condition, std::move(body));
  made.step = std::move(step);
  made.before = std::move(before);
  return &made;
}

Statement* Builder::do_loop(Block body, Value condition, Block before) {
  Statement& made = statement(StatementKind::DoLoop, condition, std::move(body));
  made.before = std::move(before);
  return &made;
}

Statement* Builder::switch_(Value value, std::vector<Case> cases) {
  Statement& made = statement(StatementKind::Switch, value);
  made.cases = std::move(cases);
  return &made;
}

Statement* Builder::break_() { return &statement(StatementKind::Break); }
Statement* Builder::continue_() { return &statement(StatementKind::Continue); }
Statement* Builder::return_(Value value) { return &statement(StatementKind::Return, value); }

namespace {

class FunctionCloner {
 public:
  explicit FunctionCloner(Module& module) : module_(module) {}

  Function& run(const Function& original, std::string name) {
    Function& made = module_.make_function(std::move(name));
    made.result = original.result;
    made.is_defined = original.is_defined;
    made.at = original.at;
    for (const Variable* parameter : original.parameters) made.parameters.push_back(variable(*parameter));
    made.body = block(original.body);
    return made;
  }

 private:
  const Variable* variable(const Variable& original) {
    if (original.space == Space::Program) return &original;
    const Variable*& known = variables_[&original];
    if (known != nullptr) return known;
    Variable& made = module_.make_variable(original.name, original.type, original.space);
    made.is_parameter = original.is_parameter;
    made.address_taken = original.address_taken;
    known = &made;
    return known;
  }

  const Expression* expression(const Expression* original) {
    if (original == nullptr) return nullptr;
    Expression& made = module_.make_expression(original->kind, original->type, original->at);
    made = *original;
    if (made.variable != nullptr) made.variable = variable(*made.variable);
    for (const Expression*& operand : made.operands) operand = expression(operand);
    return &made;
  }

  Block block(const Block& original) {
    Block made;
    made.reserve(original.size());
    for (const Statement* one : original) made.push_back(statement(*one));
    return made;
  }

  Statement* statement(const Statement& original) {
    Statement& made = module_.make_statement(original.kind, original.at);
    made.unroll = original.unroll;
    if (original.variable != nullptr) made.variable = variable(*original.variable);
    made.place = expression(original.place);
    made.value = expression(original.value);
    made.body = block(original.body);
    made.otherwise = block(original.otherwise);
    made.before = block(original.before);
    made.step = block(original.step);
    for (const Case& one : original.cases) made.cases.push_back({one.values, one.is_default, block(one.body)});
    return &made;
  }

  Module& module_;
  std::unordered_map<const Variable*, const Variable*> variables_;
};

}  // namespace

Function& clone_function(Module& module, const Function& function, std::string name) {
  return FunctionCloner(module).run(function, std::move(name));
}

}  // namespace kymo::shader::ir
