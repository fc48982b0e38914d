// Builtin functions of shared memory and of the threads of a group.

#include "shader/sema/lowering/lowering.h"

namespace kymo::shader {

// It is executed here, and its result is stored in a temporary.
Value Lowering::effect(ir::Intrinsic which, std::vector<const ir::Expression*> operands, Location at, uint32_t index) {
  body_.has_effects = true;
  const ir::Expression* made = build(at).intrinsic(which, std::move(operands), index);
  if (made->type != nullptr && !made->type->is(TypeKind::Void)) return rvalue(settle(made));
  emit(build(at).evaluate(made));
  Value nothing;
  nothing.type = table_.get(TypeKind::Void);
  return nothing;
}

Value Lowering::builtin_atomic(const BuiltinRow& row, std::span<const Value> given, Location at) {
  const Value pointer = load(given[0]);
  if (!pointer.type->is_pointer() || !pointer.type->inner->is(TypeKind::Atomic)) {
    throw Rejected{at, in_quotes(row.name) + " takes a pointer to an atomic, not " + in_quotes(pointer.type)};
  }
  if (pointer.type->space != Space::Device && pointer.type->space != Space::Threadgroup) {
    throw Rejected{at, "an atomic must be in device or threadgroup memory, not in " +
                           std::string(space_name(pointer.type->space))};
  }
  const Type* type = pointer.type->inner->inner;
  using I = ir::Intrinsic;
  const bool is_plain = row.intrinsic == I::AtomicLoad || row.intrinsic == I::AtomicStore ||
                        row.intrinsic == I::AtomicExchange || row.intrinsic == I::AtomicCompareExchange;
  const bool is_sum = row.intrinsic == I::AtomicAdd || row.intrinsic == I::AtomicSubtract;
  const bool is_supported = (type->is_integer() && type->size >= 4) ||
                            (type->is(TypeKind::Float) && (is_plain || is_sum)) ||
                            (type->is(TypeKind::Bool) && is_plain);
  if (!is_supported)
    throw Rejected{at, in_quotes(row.name) + " is not supported for " + in_quotes(pointer.type->inner) +
                           (type->is(TypeKind::Bool) ? ": use an atomic_uint that is 0 or 1" : "")};
  if (row.intrinsic == I::AtomicLoad) return effect(row.intrinsic, {pointer.ir}, at);
  if (pointer.type->is_const) throw Rejected{at, in_quotes(row.name) + " writes: its pointer must not be const"};
  if (row.intrinsic == I::AtomicCompareExchange) return builtin_exchange(pointer.ir, given, at);
  return effect(row.intrinsic, {pointer.ir, as_number(given[1], type, at)}, at);
}

// Whether the value was the expected one. If not, the value is stored in `expected`.
Value Lowering::builtin_exchange(const ir::Expression* pointer, std::span<const Value> given, Location at) {
  const Type* type = pointer->type->inner->inner;
  const Value expected = freeze(pointee(given[1], at));
  if (expected.type != type) {
    throw Rejected{at, "atomic_compare_exchange_weak expects a pointer to " + in_quotes(type) + ", not to " +
                           in_quotes(expected.type)};
  }
  const ir::Expression* wanted = settle(read(expected));
  const Value before =
      effect(ir::Intrinsic::AtomicCompareExchange, {pointer, wanted, as_number(given[2], type, at)}, at);
  // By the bits: a NaN is equal to itself here.
  const Type* bits = type->is_floating() ? table_.get(TypeKind::UInt) : type;
  const ir::Expression* is_same =
      build(at).binary(ir::Operator::Equal, build_.bitcast(bits, before.ir), build_.bitcast(bits, wanted));
  is_same = settle(is_same);
  ir::Block otherwise;
  {
    const Into into(*this, otherwise);
    assign(expected, before.ir, at);
  }
  emit(build(at).if_(build_.logical_not(is_same), std::move(otherwise)));
  return rvalue(is_same);
}

Value Lowering::builtin_barrier(const BuiltinRow& row, std::span<const Value> given, Location at) {
  const Value flags = load(given[0]);
  if (!flags.type->is_integer())
    throw Rejected{at, in_quotes(row.name) + " takes mem_flags, not " + in_quotes(flags.type)};
  const ir::Expression* known = evaluated(flags.ir, {});
  constexpr uint32_t kAll = 3;
  const uint32_t which = known != nullptr && known->kind == ir::ExpressionKind::Constant
                             ? static_cast<uint32_t>(known->bits) & kAll
                             : kAll;
  return effect(row.intrinsic, {}, at, which);
}

// A structure or an array goes to other lanes part by part.
Value Lowering::shuffled_parts(const BuiltinRow& row, const Value& value, const Value& lane, Location at) {
  const Value whole = rvalue(settle(value.ir), value.type),
              from = rvalue(settle(as_number(lane, table_.get(TypeKind::UInt), at)));
  const bool is_struct = value.type->is_struct();
  const size_t count = is_struct ? value.type->fields.size() : value.type->count;
  constexpr size_t kMaxParts = 256;
  if (count > kMaxParts)
    throw Rejected{at, in_quotes(value.type) + " is too large for other lanes: pass its parts one by one"};
  std::vector<const ir::Expression*> parts;
  for (size_t i = 0; i < count; ++i) {
    const ir::Expression* part = is_struct ? build(at).member(whole.ir, static_cast<uint32_t>(i))
                                           : build(at).index(whole.ir, static_cast<int32_t>(i));
    const Value given[] = {rvalue(part), from};
    parts.push_back(builtin_simd(row, given, at).ir);
  }
  return rvalue(build(at).construct(value.type, std::move(parts)), value.type);
}

Value Lowering::builtin_simd(const BuiltinRow& row, std::span<const Value> given, Location at) {
  using I = ir::Intrinsic;
  if (row.intrinsic == I::SimdLane) return rvalue(build(at).intrinsic(I::SimdLane));
  if (row.intrinsic == I::SimdBallot) return effect(I::SimdBallot, {truth(given[0], at, "the vote")}, at);
  const Value value = load(given[0]);
  if (row.intrinsic == I::SimdShuffle && (value.type->is_struct() || value.type->is(TypeKind::Array)))
    return shuffled_parts(row, value, given[1], at);
  if (!value.type->is_number())
    throw Rejected{at, in_quotes(row.name) + " takes numbers and vectors, not " + in_quotes(value.type)};
  const Type* scalar = value.type->scalar();
  const bool is_logic = row.intrinsic == I::SimdAnd || row.intrinsic == I::SimdOr || row.intrinsic == I::SimdXor;
  if (is_logic && scalar->is_floating())
    throw Rejected{at, in_quotes(row.name) + " takes integers, not " + in_quotes(value.type)};
  // The operands are int, uint, long, ulong or float.
  const Type* wide = scalar->is_floating() ? table_.get(TypeKind::Float)
                     : scalar->size < 4    ? table_.get(TypeKind::Int)
                                           : scalar;
  const ir::Expression* lane = given.size() > 1 ? settle(as_number(given[1], table_.get(TypeKind::UInt), at)) : nullptr;
  const ir::Expression* whole = value.type->is_vector() ? settle(value.ir) : value.ir;
  const uint32_t is_of_all = row.name == "kymo_shuffle_of_all" ? 1 : 0;
  std::vector<const ir::Expression*> results;
  for (uint32_t i = 0; i < value.type->components(); ++i) {
    const ir::Expression* component = value.type->is_vector() ? build(at).index(whole, static_cast<int32_t>(i)) : whole;
    std::vector<const ir::Expression*> operands = {convert_number(component, wide, at)};
    if (lane != nullptr) operands.push_back(lane);
    results.push_back(convert_number(effect(row.intrinsic, std::move(operands), at, is_of_all).ir, scalar, at));
  }
  return rvalue(value.type->is_vector() ? build(at).construct(value.type, std::move(results)) : results[0], value.type);
}

}  // namespace kymo::shader
