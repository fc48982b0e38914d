#include "shader/test_support/verify_expression.h"

#include <algorithm>
#include <cmath>

#include "shader/ir/scalar.h"
#include "shader/test_support/ir_names.h"
#include "shader/test_support/verify_intrinsic.h"

namespace kymo::shader::ir {
namespace {

bool fault_is_small_float(const Type* type) {
  return type->scalar()->is(TypeKind::Half) || type->scalar()->is(TypeKind::BFloat);
}

// int, uint, long, ulong, float; and vectors of any integers and of float.
bool fault_is_arithmetic(const Type* type) {
  if (type->is_vector()) return !type->packed && (type->inner->is_integer() || type->inner->is(TypeKind::Float));
  return (type->is_integer() && type->size >= 4) || type->is(TypeKind::Float);
}

bool fault_is_logic(const Type* type) { return !type->packed && type->scalar()->is(TypeKind::Bool); }

bool fault_is_whole(const Type* type) { return fault_is_arithmetic(type) && type->scalar()->is_integer(); }

bool fault_is_vector_of(const Type* type, const Type* component, uint32_t count) {
  return type->is_vector() && !type->packed && type->inner == component && type->count == count;
}

// Of a comparison of such operands.
bool fault_is_bool_like(const Type* result, const Type* operand) {
  if (!operand->is_vector()) return result->is(TypeKind::Bool);
  return result->is_vector() && result->inner->is(TypeKind::Bool) && result->count == operand->count;
}

const char* constant_fault(const Expression& e) {
  const TypeKind kind = e.type->kind;
  if (!e.type->is_scalar()) return "a constant is a scalar";
  if (!e.type->is_floating()) return scalar_normalized(kind, e.bits) == e.bits ? "" : "the bits are not of its type";
  if (e.bits >> 32 != 0) return "the bits are not those of a float";
  const float value = float_of(e.bits);
  if (scalar_converted(TypeKind::Float, kind, e.bits) != e.bits && !std::isnan(value)) return "it has too many bits";
  return "";
}

const char* place_fault(const Expression& e) {
  const Type* inner = e.operands[0]->type;
  switch (e.kind) {
    case ExpressionKind::Dereference:
      if (!inner->is_pointer() || inner->inner != e.type) return "it is not what the pointer is to";
      return e.type->is(TypeKind::Void) ? "it is a pointer to void" : "";
    case ExpressionKind::Member:
      if (!inner->is_struct() || !inner->complete) return "it is not of a struct";
      if (e.index >= inner->fields.size()) return "there is no such field";
      return inner->fields[e.index].type == e.type ? "" : "it has not the field's type";
    case ExpressionKind::Index:
      if (!inner->is_array() && !inner->is_vector()) return "it is not of an array or a vector";
      if (!e.operands[1]->type->is_integer()) return "the index is not an integer";
      return inner->inner == e.type ? "" : "it has not the element's type";
    default:
      if (!inner->is_vector()) return "it is not of a vector";
      if (e.index < 2 || e.index > 4) return "it has not 2 to 4 components";
      for (uint32_t i = 0; i < e.index; ++i)
        if (e.swizzle[i] >= inner->count) return "there is no such component";
      return fault_is_vector_of(e.type, inner->inner, e.index) ? "" : "it has not the type of its components";
  }
}

bool fault_lies_in(const Expression& place, Space space) {
  const Expression& root = place_root(place);
  return space == (root.kind == ExpressionKind::Variable ? root.variable->space : root.operands[0]->type->space);
}

const char* address_fault(const Expression& e) {
  const Expression& place = *e.operands[0];
  if (!is_place(place)) return "it is not of a place";
  if (place.kind == ExpressionKind::Swizzle) return "it is of a swizzle";
  if (place.kind == ExpressionKind::Index && place.operands[0]->type->is_vector())
    return "it is of a vector's component";
  if (!e.type->is_pointer()) return "it is not a pointer";
  if (!fault_lies_in(place, e.type->space)) return "the place lies in another space";
  if (e.kind == ExpressionKind::AddressOf) return e.type->inner == place.type ? "" : "it is a pointer to another type";
  return place.type->is_array() && e.type->inner == place.type->inner ? ""
                                                                      : "it is not a pointer to an array's element";
}

const char* pointer_fault(const Expression& e) {
  const Type* first = e.operands[0]->type;
  if (e.kind == ExpressionKind::PointerCast) {
    if (e.type->is_pointer() && first->is_pointer()) return e.type->space == first->space ? "" : "the spaces differ";
    const bool is_number =
        (e.type->is_pointer() && first->is(TypeKind::ULong)) || (e.type->is(TypeKind::ULong) && first->is_pointer());
    return is_number ? "" : "it is between other types than pointers and ulong";
  }
  if (!first->is_pointer()) return "the left operand is not a pointer";
  const Type* second = e.operands[1]->type;
  if (e.kind == ExpressionKind::PointerAdd) {
    if (!second->is(TypeKind::Int) && !second->is(TypeKind::Long)) return "the right operand is not an int or long";
    return is_given(e.type, first) ? "" : "it has not its pointer's type";
  }
  return is_given(first, second) && e.type->is(TypeKind::Long) ? ""
                                                               : "the operands differ, or the result is not a long";
}

const char* unary_fault(const Expression& e) {
  const Type* operand = e.operands[0]->type;
  if (operand != e.type) return "the operand has another type than the result";
  switch (e.op) {
    case Operator::Negate:
      return fault_is_arithmetic(operand) ? "" : "there is no arithmetic of this type";
    case Operator::Complement:
      return fault_is_whole(operand) ? "" : "the operand is not an integer";
    default:
      return e.op == Operator::Not && fault_is_logic(operand) ? "" : "the operand is not a bool";
  }
}

const char* shift_fault(const Expression& e) {
  const Type *left = e.operands[0]->type, *right = e.operands[1]->type;
  if (left != e.type || !fault_is_whole(left)) return "the left operand is not an integer of the result's type";
  if (!right->scalar()->is_integer()) return "the right operand is not an integer";
  return left->components() == right->components() && !right->packed ? "" : "the right operand has other components";
}

const char* binary_fault(const Expression& e) {
  const Type *left = e.operands[0]->type, *right = e.operands[1]->type;
  if (e.op >= Operator::Negate) return "the operator has one operand";
  if (e.op == Operator::ShiftLeft || e.op == Operator::ShiftRight) return shift_fault(e);
  if (!is_given(left, right)) return "the operands have different types";
  if (is_comparison(e.op)) {
    if (!fault_is_bool_like(e.type, left)) return "the result of a comparison is not a bool";
    if (left->is_pointer() || fault_is_arithmetic(left)) return "";
    const bool is_equality = e.op == Operator::Equal || e.op == Operator::NotEqual;
    return is_equality && fault_is_logic(left) ? "" : "there is no such comparison of this type";
  }
  if (left != e.type) return "the operands have another type than the result";
  if (e.op >= Operator::And && fault_is_logic(left)) return "";
  if (e.op >= Operator::And || e.op == Operator::Remainder) return fault_is_whole(left) ? "" : "it is not of integers";
  return fault_is_arithmetic(left) ? "" : "there is no arithmetic of this type";
}

const char* logical_fault(const Expression& e) {
  const bool all = e.type->is(TypeKind::Bool) && e.operands[0]->type == e.type && e.operands[1]->type == e.type;
  return all ? "" : "it is not of two bools";
}

const char* conditional_fault(const Expression& e) {
  if (!e.operands[0]->type->is(TypeKind::Bool)) return "the condition is not a bool";
  if (e.type->is_array() || e.type->packed) return "it is of arrays or packed vectors";
  return is_given(e.type, e.operands[1]->type) && is_given(e.type, e.operands[2]->type) ? "" : "the types differ";
}

const char* convert_fault(const Expression& e) {
  const Type *to = e.type, *from = e.operands[0]->type;
  if (!to->is_number() || !from->is_number()) return "it is not of numbers";
  if (to->is_vector() != from->is_vector() || to->components() != from->components()) return "the components differ";
  if (to->packed || from->packed) return to->scalar() == from->scalar() ? "" : "a packed vector changes its scalar";
  if (to->scalar() == from->scalar()) return "";
  if (fault_is_small_float(to) && !from->scalar()->is(TypeKind::Float)) return "half and bfloat come from float only";
  return fault_is_small_float(from) && !to->scalar()->is(TypeKind::Float) ? "half and bfloat go to float only" : "";
}

const char* construct_fault(const Expression& e) {
  const Type* type = e.type;
  if (type->is_vector()) {
    uint32_t components = 0;
    for (const Expression* part : e.operands) {
      if (part->type->scalar() != type->inner || part->type->packed) return "a part is not of the vector's components";
      components += part->type->components();
    }
    return components == type->count ? "" : "the parts are too many or too few";
  }
  if (type->is_array()) {
    for (const Expression* part : e.operands)
      if (!is_given(type->inner, part->type)) return "a part has another type than the elements";
    return e.operands.size() == type->count ? "" : "the parts are too many or too few";
  }
  if (!type->is_struct()) return "it is not a vector, array or struct";
  const size_t wanted = type->fields.size();
  if (e.operands.size() != wanted) return "the parts are too many or too few";
  for (size_t i = 0; i < e.operands.size(); ++i)
    if (!is_given(type->fields[i].type, e.operands[i]->type)) return "a part has another type than its field";
  return "";
}

const char* bitcast_fault(const Expression& e) {
  const Type *to = e.type, *from = e.operands[0]->type;
  for (const Type* type : {to, from})
    if (!type->is_number() || type->packed || type->scalar()->is(TypeKind::Bool)) return "it is not of numbers";
  const bool is_as_large = to->scalar()->size * to->components() == from->scalar()->size * from->components();
  return is_as_large ? "" : "the sizes differ";
}

const char* call_fault(const Expression& e) {
  if (e.function == nullptr) return "it calls nothing";
  if (e.function->is_kernel) return "it calls a kernel";
  if (e.function->result != e.type) return "it has not the function's result type";
  if (e.function->parameters.size() != e.operands.size()) return "the arguments are too many or too few";
  for (size_t i = 0; i < e.operands.size(); ++i)
    if (!is_given(e.function->parameters[i]->type, e.operands[i]->type))
      return "an argument has not its parameter's type";
  return "";
}

// The number of operands of a kind; -1: it varies.
int fault_operand_count(ExpressionKind kind) {
  switch (kind) {
    case ExpressionKind::Constant:
    case ExpressionKind::Null:
    case ExpressionKind::Variable:
    case ExpressionKind::Zero:
      return 0;
    case ExpressionKind::Index:
    case ExpressionKind::PointerAdd:
    case ExpressionKind::PointerDifference:
    case ExpressionKind::Binary:
    case ExpressionKind::LogicalAnd:
    case ExpressionKind::LogicalOr:
      return 2;
    case ExpressionKind::Conditional:
      return 3;
    case ExpressionKind::Construct:
    case ExpressionKind::Call:
    case ExpressionKind::Intrinsic:
      return -1;
    default:
      return 1;
  }
}

const char* kind_fault(const Expression& e) {
  switch (e.kind) {
    case ExpressionKind::Constant:
      return constant_fault(e);
    case ExpressionKind::Null:
      return e.type->is_pointer() ? "" : "it is not a pointer";
    case ExpressionKind::Variable:
      if (e.variable == nullptr) return "it names nothing";
      return e.variable->type == e.type ? "" : "it has not its variable's type";
    case ExpressionKind::Dereference:
    case ExpressionKind::Member:
    case ExpressionKind::Index:
    case ExpressionKind::Swizzle:
      return place_fault(e);
    case ExpressionKind::AddressOf:
    case ExpressionKind::Decay:
      return address_fault(e);
    case ExpressionKind::PointerAdd:
    case ExpressionKind::PointerCast:
    case ExpressionKind::PointerDifference:
      return pointer_fault(e);
    case ExpressionKind::Unary:
      return unary_fault(e);
    case ExpressionKind::Binary:
      return binary_fault(e);
    case ExpressionKind::LogicalAnd:
    case ExpressionKind::LogicalOr:
      return logical_fault(e);
    case ExpressionKind::Conditional:
      return conditional_fault(e);
    case ExpressionKind::Convert:
      return convert_fault(e);
    case ExpressionKind::Splat:
      return fault_is_vector_of(e.type, e.operands[0]->type, e.type->count) ? "" : "it is not a vector of its operand";
    case ExpressionKind::Construct:
      return construct_fault(e);
    case ExpressionKind::Zero:
      return e.type->is(TypeKind::Void) ? "there is no 0 of this type" : "";
    case ExpressionKind::Bitcast:
      return bitcast_fault(e);
    case ExpressionKind::Call:
      return call_fault(e);
    case ExpressionKind::Intrinsic:
      return intrinsic_fault(e);
  }
  return "there is no such kind";
}

const char* common_fault(const Expression& e) {
  if (e.type == nullptr) return "it has no type";
  if (e.type->is(TypeKind::Reference)) return "the IR has no references";
  const int count = fault_operand_count(e.kind);
  if (count >= 0 && e.operands.size() != static_cast<size_t>(count)) return "the operands are too many or too few";
  for (const Expression* operand : e.operands) {
    if (operand->type->is(TypeKind::Void)) return "an operand is void";
    const bool is_of_place = e.kind == ExpressionKind::AddressOf || e.kind == ExpressionKind::Index ||
                             e.kind == ExpressionKind::Member || e.kind == ExpressionKind::Decay;
    if (operand->type->is(TypeKind::Atomic) && !is_of_place) return "an atomic is read without an atomic operation";
  }
  if (e.type->packed && !is_place(e) && e.kind != ExpressionKind::Convert && e.kind != ExpressionKind::Zero &&
      e.kind != ExpressionKind::Member && e.kind != ExpressionKind::Index)
    return "a packed vector is calculated with";
  return "";
}

}  // namespace

bool is_given(const Type* to, const Type* from) {
  if (to == from) return true;
  return to->is_pointer() && from->is_pointer() && to->inner == from->inner && to->space == from->space;
}

std::string_view expression_fault(const Expression& expression) {
  const char* fault = common_fault(expression);
  if (*fault == '\0') fault = kind_fault(expression);
  return fault;
}

}  // namespace kymo::shader::ir
