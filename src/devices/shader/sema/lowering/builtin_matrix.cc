// Products of simdgroup matrices by the matrix unit of the target. library/stdlib_matrix.metal calls these.

#include "shader/sema/lowering/lowering.h"

namespace kymo::shader {
namespace {

enum : uint32_t { kNoUnit = 0, kInOrderOfApple = 1, kInOrderOfUnit = 2, kOperandsAreHeld = 4, kOfAnyType = 8 };

}  // namespace

// kymo_matrix_unit<T>(): whether the target multiplies matrices of T, and how its lanes hold matrices. With void it
// tells only the order. Code that calls thread_elements() sees the order of lanes, so it gets Apple's; and it may
// change elements, so nothing is held that was computed from them.
uint32_t Lowering::matrix_unit(const TemplateArguments& arguments, Location at) {
  if (arguments.size() != 1 || arguments[0].kind != TemplateArgument::Kind::Type)
    throw Rejected{at, "kymo_matrix_unit takes a type"};
  if (options_.target == Target::OpenCl) return kOfAnyType;
  if (options_.target != Target::Cuda) return kNoUnit;
  const Type* type = arguments[0].type.type;
  const bool has_unit = options_.tensor_cores && (type->is(TypeKind::Half) || type->is(TypeKind::BFloat));
  if (context_.matrix_order_is_seen) return has_unit ? kInOrderOfApple : kNoUnit;
  if (type->is(TypeKind::Void)) return options_.tensor_cores ? kInOrderOfUnit : kNoUnit;
  return has_unit ? kInOrderOfUnit : kOperandsAreHeld;
}

// kymo_matrix_multiply<T>(float2 a, float2 b, float2 sum)
Value Lowering::builtin_matrix(const BuiltinRow& row, const TemplateArguments& arguments, std::span<const Value> given,
                               Location at) {
  const uint32_t unit = matrix_unit(arguments, at);
  if (unit == kNoUnit || unit == kOperandsAreHeld) throw Rejected{at, "there is no matrix unit for this type"};
  const Type* pair = table_.vector(table_.get(TypeKind::Float), 2);
  std::vector<const ir::Expression*> operands;
  for (const Value& value : given) operands.push_back(settle(as_number(value, pair, at)));
  const bool is_bfloat = arguments[0].type.type->is(TypeKind::BFloat);
  return effect(row.intrinsic, std::move(operands), at, is_bfloat ? 1 : 0);
}

}  // namespace kymo::shader
