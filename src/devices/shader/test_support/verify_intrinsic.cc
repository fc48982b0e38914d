#include "shader/test_support/verify_intrinsic.h"

namespace kymo::shader::ir {
namespace {

constexpr uint32_t kAllMemory = 3;  // device and threadgroup, as a barrier's `index`

bool intrinsic_is_between(Intrinsic intrinsic, Intrinsic first, Intrinsic last) {
  return intrinsic >= first && intrinsic <= last;
}

bool intrinsic_takes_32_or_64(const Type* type) { return type->is_integer() && type->size >= 4; }

bool intrinsic_all_are(const Expression& e, const Type* type) {
  for (const Expression* operand : e.operands)
    if (operand->type != type) return false;
  return true;
}

const char* float_intrinsic_fault(const Expression& e) {
  const size_t wanted = e.intrinsic == Intrinsic::Fma                                             ? 3
                        : intrinsic_is_between(e.intrinsic, Intrinsic::Fmin, Intrinsic::Copysign) ? 2
                                                                                                  : 1;
  if (e.operands.size() != wanted) return "the operands are too many or too few";
  const Type* type = e.operands[0]->type;
  if (type->packed || !type->scalar()->is(TypeKind::Float) || !intrinsic_all_are(e, type)) return "it is not of floats";
  if (e.intrinsic <= Intrinsic::Fma) return e.type == type ? "" : "it has another type than its operands";
  const bool is_bool = e.type->scalar()->is(TypeKind::Bool) && e.type->is_vector() == type->is_vector() &&
                       e.type->components() == type->components();
  return is_bool ? "" : "the result is not a bool";
}

const char* integer_intrinsic_fault(const Expression& e) {
  const bool is_of_one = intrinsic_is_between(e.intrinsic, Intrinsic::PopCount, Intrinsic::ReverseBits);
  if (e.operands.size() != (is_of_one ? 1 : 2)) return "the operands are too many or too few";
  if (!intrinsic_all_are(e, e.type)) return "it has another type than its operands";
  const bool fits =
      e.type->is_vector() ? !e.type->packed && e.type->inner->is_integer() : intrinsic_takes_32_or_64(e.type);
  if (!fits) return "it is not of integers";
  return e.intrinsic == Intrinsic::MulHi && e.type->scalar()->size != 4 ? "it is not of int or uint" : "";
}

const char* select_fault(const Expression& e) {
  if (e.operands.size() != 3) return "the operands are too many or too few";
  if (e.operands[0]->type != e.type || e.operands[1]->type != e.type) return "the types differ";
  if (!e.type->is_number() || e.type->packed) return "it is not of numbers";
  const Type* chosen = e.operands[2]->type;
  if (!chosen->scalar()->is(TypeKind::Bool) || chosen->packed) return "the condition is not a bool";
  return !chosen->is_vector() || chosen->components() == e.type->components() ? "" : "the components differ";
}

const char* atomic_fault(const Expression& e) {
  const size_t wanted = e.intrinsic == Intrinsic::AtomicLoad              ? 1
                        : e.intrinsic == Intrinsic::AtomicCompareExchange ? 3
                                                                          : 2;
  if (e.operands.size() != wanted) return "the operands are too many or too few";
  const Type* pointer = e.operands[0]->type;
  if (!pointer->is_pointer() || !pointer->inner->is(TypeKind::Atomic)) return "it is not of a pointer to an atomic";
  const Type* value = pointer->inner->inner;
  for (size_t i = 1; i < e.operands.size(); ++i)
    if (e.operands[i]->type != value) return "a value has another type than the atomic";
  const bool is_store = e.intrinsic == Intrinsic::AtomicStore;
  return (is_store ? e.type->is(TypeKind::Void) : e.type == value) ? "" : "it has another type than the atomic's value";
}

// The operand that takes threads out, where there is one more than the intrinsic's own.
const char* active_fault(const Expression& e, size_t own) {
  if (e.operands.size() == own) return "";
  if (e.operands.size() != own + 1) return "the operands are too many or too few";
  return e.operands.back()->type->is(TypeKind::Bool) ? "" : "whether a thread is active is not a bool";
}

const char* barrier_fault(const Expression& e) {
  const bool ends_loop = e.intrinsic == Intrinsic::GroupBarrier && e.index == kEndOfLoop;
  if (e.index > kAllMemory && !ends_loop) return "there is no such memory";
  if (!e.type->is(TypeKind::Void)) return "it is not void";
  if (e.intrinsic == Intrinsic::SimdBarrier) return active_fault(e, 0);
  return e.operands.empty() ? "" : "the operands are too many";
}

const char* simd_fault(const Expression& e) {
  if (e.operands.empty()) return "the operands are too few";
  const Type* value = e.operands[0]->type;
  if (e.intrinsic == Intrinsic::GroupAny || e.intrinsic == Intrinsic::SimdBallot) {
    if (!value->is(TypeKind::Bool)) return "it is not of a bool";
    if (e.intrinsic == Intrinsic::SimdBallot)
      return e.type->is(TypeKind::UInt) ? active_fault(e, 1) : "it is not a uint";
    return e.type == value && e.operands.size() == 1 ? "" : "it is not one bool of another";
  }
  if (e.type != value) return "it has another type than its operand";
  if (e.intrinsic == Intrinsic::SimdMatrix) {
    if (!value->is_vector() || value->count != 2 || !value->inner->is(TypeKind::Float)) return "it is not of float2";
    if (e.operands.size() < 3 || e.operands[1]->type != value || e.operands[2]->type != value)
      return "its operands have other types";
    return active_fault(e, 3);
  }
  if (!intrinsic_takes_32_or_64(value) && !value->is(TypeKind::Float))
    return "it is of another type than simdgroups have";
  const bool is_logic = intrinsic_is_between(e.intrinsic, Intrinsic::SimdAnd, Intrinsic::SimdXor);
  if (is_logic && !value->is_integer()) return "it is not of integers";
  if (e.intrinsic != Intrinsic::SimdShuffle) return active_fault(e, 1);
  if (e.operands.size() < 2 || !e.operands[1]->type->is(TypeKind::UInt)) return "the lane is not a uint";
  return active_fault(e, 2);
}

const char* position_fault(const Expression& e) {
  if (!e.operands.empty()) return "the operands are too many";
  if (e.intrinsic >= Intrinsic::SimdLane) return e.type->is(TypeKind::UInt) ? "" : "it is not a uint";
  const bool is_uint3 =
      e.type->is_vector() && !e.type->packed && e.type->count == 3 && e.type->inner->is(TypeKind::UInt);
  return is_uint3 ? "" : "it is not a uint3";
}

}  // namespace

const char* intrinsic_fault(const Expression& e) {
  const Intrinsic intrinsic = e.intrinsic;
  if (intrinsic <= Intrinsic::IsInf) return float_intrinsic_fault(e);
  if (intrinsic <= Intrinsic::MulHi) return integer_intrinsic_fault(e);
  if (intrinsic <= Intrinsic::All) {
    const bool is_one = e.operands.size() == 1 && e.operands[0]->type->scalar()->is(TypeKind::Bool);
    return is_one && e.type->is(TypeKind::Bool) ? "" : "it is not of a vector of bool";
  }
  if (intrinsic == Intrinsic::Select) return select_fault(e);
  if (intrinsic <= Intrinsic::AtomicMax) return atomic_fault(e);
  if (intrinsic <= Intrinsic::Fence) return barrier_fault(e);
  return intrinsic <= Intrinsic::GroupAny ? simd_fault(e) : position_fault(e);
}

}  // namespace kymo::shader::ir
