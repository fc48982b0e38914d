// Builtin functions of numbers.

#include "shader/sema/lowering/lowering.h"

namespace kymo::shader {

Value Lowering::builtin_float(const BuiltinRow& row, std::span<const Value> given, Location at) {
  const Type* type = unified(given, true, row.name, at);
  const Type* wide = table_.with_scalar(type, table_.get(TypeKind::Float));
  std::vector<const ir::Expression*> operands;
  for (const Value& value : given) operands.push_back(convert_number(as_number(value, type, at), wide, at));
  const ir::Expression* made = build(at).intrinsic(row.intrinsic, std::move(operands));
  return row.kind == BuiltinKind::FloatTest ? rvalue(made) : rvalue(convert_number(made, type, at), type);
}

Value Lowering::builtin_minmax(const BuiltinRow& row, std::span<const Value> given, Location at) {
  const Type* type = unified(given, false, row.name, at);
  const bool is_float = type->scalar()->is_floating();
  const bool is_small = type->is_scalar() && type->size < 4;
  const Type* wide = is_float ? table_.with_scalar(type, table_.get(TypeKind::Float)) : type;
  if ((!is_float && is_small) || type->scalar()->is(TypeKind::Bool))
    wide = table_.with_scalar(type, table_.get(TypeKind::Int));
  const bool is_min = row.intrinsic == ir::Intrinsic::Min;
  const ir::Intrinsic which = !is_float ? row.intrinsic : is_min ? ir::Intrinsic::Fmin : ir::Intrinsic::Fmax;
  std::vector<const ir::Expression*> operands;
  for (const Value& value : given) operands.push_back(convert_number(as_number(value, type, at), wide, at));
  return rvalue(convert_number(build(at).intrinsic(which, std::move(operands)), type, at), type);
}

// Integers of 8 and 16 bits go through 32.
Value Lowering::builtin_bits(const BuiltinRow& row, std::span<const Value> given, Location at) {
  const Type* type = unified(given, false, row.name, at);
  const Type* scalar = type->scalar();
  if (!scalar->is_integer()) throw Rejected{at, in_quotes(row.name) + " takes integers, not " + in_quotes(type)};
  if (row.intrinsic == ir::Intrinsic::MulHi) {
    if (scalar->size != 4) {
      throw Rejected{at, in_quotes(row.name) + " takes scalars, or vectors of int or uint, not " + in_quotes(type)};
    }
    return rvalue(build(at).intrinsic(row.intrinsic, {as_number(given[0], type, at), as_number(given[1], type, at)}),
                  type);
  }
  const ir::Expression* value = as_number(given[0], type, at);
  if (scalar->size >= 4) return rvalue(build(at).intrinsic(row.intrinsic, {value}), type);
  const TypeKind same_width = scalar->size == 1 ? TypeKind::UChar : TypeKind::UShort;
  const Type* wide = table_.with_scalar(type, table_.get(TypeKind::UInt));
  value = convert_number(convert_number(value, table_.with_scalar(type, table_.get(same_width)), at), wide, at);
  Value result = rvalue(build(at).intrinsic(row.intrinsic, {value}));
  const Value unused = rvalue(build(at).constant_uint(32 - scalar->size * 8));
  if (row.intrinsic == ir::Intrinsic::CountLeadingZeros) result = arithmetic("-", result, unused, at);
  if (row.intrinsic == ir::Intrinsic::ReverseBits) result = shift(">>", result, unused, at);
  return rvalue(convert_number(result.ir, type, at), type);
}

Value Lowering::builtin_flags(const BuiltinRow& row, std::span<const Value> given, Location at) {
  const Type* bool_type = table_.get(TypeKind::Bool);
  const Value& last = given.back();
  if (!last.type->is_number()) throw Rejected{at, in_quotes(row.name) + " takes bools, not " + in_quotes(last.type)};
  const ir::Expression* flags = as_number(last, table_.with_scalar(last.type, bool_type), at);
  if (row.kind == BuiltinKind::Any)
    return flags->type->is_vector() ? rvalue(build(at).intrinsic(row.intrinsic, {flags})) : rvalue(flags);
  const Type* type = unified(given.first(2), false, row.name, at);
  if (flags->type->is_vector() && !type->is_vector()) type = table_.vector(type, flags->type->count);
  if (flags->type->is_vector() && flags->type->count != type->count) {
    throw Rejected{at, in_quotes(row.name) + " takes as many bools as components: " + in_quotes(type) + " and " +
                           in_quotes(flags->type) + " are given"};
  }
  return rvalue(
      build(at).intrinsic(ir::Intrinsic::Select, {as_number(given[0], type, at), as_number(given[1], type, at), flags}),
      type);
}

// ---- What the library does -----------------------------------------------------------------------------------------

Value Lowering::builtin_library(const BuiltinRow& row, std::span<const Value> given, Location at) {
  const Type* type = unified(given, row.kind == BuiltinKind::FloatLibrary, row.name, at);
  std::vector<Value> values;
  for (const Value& value : given) values.push_back(rvalue(as_number(value, type, at), type));
  return call_library("kymo_" + std::string(row.name), values, at);
}

// By components, in float.
Value Lowering::builtin_components(const BuiltinRow& row, std::span<const Value> given, Location at) {
  const bool has_exponent = row.name == "ldexp";
  const Type* float_type = table_.get(TypeKind::Float);
  const Type* int_type = table_.get(TypeKind::Int);
  const Type* type = unified(has_exponent ? given.first(1) : given, true, row.name, at);
  const std::string name = "kymo_" + std::string(row.name);
  std::vector<const ir::Expression*> operands;
  for (size_t i = 0; i < given.size(); ++i) {
    const Type* wanted = table_.with_scalar(type, has_exponent && i == 1 ? int_type : float_type);
    if (has_exponent && i == 1) {
      operands.push_back(as_number(given[i], wanted, at));
    } else {
      operands.push_back(convert_number(as_number(given[i], type, at), wanted, at));
    }
    if (type->is_vector()) operands.back() = settle(operands.back());
  }
  std::vector<const ir::Expression*> results;
  for (uint32_t component = 0; component < type->components(); ++component) {
    std::vector<Value> values;
    for (const ir::Expression* operand : operands) {
      values.push_back(rvalue(type->is_vector() ? build(at).index(operand, static_cast<int32_t>(component)) : operand));
    }
    results.push_back(read(call_library(name, values, at)));
  }
  const Type* result = table_.with_scalar(type, results[0]->type);
  const ir::Expression* whole = type->is_vector() ? build(at).construct(result, std::move(results)) : results[0];
  return rvalue(row.name == "ilogb" ? whole : convert_number(whole, type, at));
}

}  // namespace kymo::shader
