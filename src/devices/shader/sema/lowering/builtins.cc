// Functions that the standard library cannot express in Metal, and type traits.

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "shader/sema/lowering/lowering.h"

namespace kymo::shader {

std::optional<Value> Lowering::builtin(std::string_view name, const TemplateArguments& explicit_arguments,
                                       std::span<const Value> given, Location at) {
  using Kind = BuiltinKind;
  const BuiltinRow* row = builtin_row(name);
  if (row == nullptr) return std::nullopt;
  // The last argument of __metal_NAME allows fast math, which no target uses.
  if (name.starts_with("__metal_") && given.size() == size_t{row->max_arguments} + 1)
    given = given.first(row->max_arguments);
  if (given.size() < row->min_arguments || given.size() > row->max_arguments) {
    const std::string wanted = row->min_arguments == row->max_arguments
                                   ? std::to_string(row->min_arguments)
                                   : std::to_string(row->min_arguments) + " to " + std::to_string(row->max_arguments);
    throw Rejected{at, in_quotes(name) + " takes " + wanted +
                           (row->max_arguments == 1 ? " argument: " : " arguments: ") + std::to_string(given.size()) +
                           (given.size() == 1 ? " is given" : " are given")};
  }
  std::vector<Value> values;
  for (const Value& value : given) values.push_back(decayed(number_of(value, at)));
  switch (row->kind) {
    case Kind::Float:
    case Kind::FloatTest:
      return builtin_float(*row, values, at);
    case Kind::FloatOrLibrary:
      return options_.target == Target::Glsl ? builtin_components(*row, values, at) : builtin_float(*row, values, at);
    case Kind::Abs:
      return values[0].type->is_number() && values[0].type->scalar()->is_floating() ? builtin_float(*row, values, at)
                                                                                    : builtin_library(*row, values, at);
    case Kind::MinMax:
      return builtin_minmax(*row, values, at);
    case Kind::Bits:
      return builtin_bits(*row, values, at);
    case Kind::Any:
    case Kind::Select:
      return builtin_flags(*row, values, at);
    case Kind::Library:
    case Kind::FloatLibrary:
      return builtin_library(*row, values, at);
    case Kind::Components:
      return builtin_components(*row, values, at);
    case Kind::Atomic:
      return builtin_atomic(*row, values, at);
    case Kind::Barrier:
      return builtin_barrier(*row, values, at);
    case Kind::Simd:
    case Kind::Lane:
      return builtin_simd(*row, values, at);
    case Kind::Matrix:
      return builtin_matrix(*row, explicit_arguments, values, at);
    case Kind::MatrixUnit:
      return rvalue(build(at).constant_uint(matrix_unit(explicit_arguments, at)));
    case Kind::Trait:
      return builtin_trait(*row, explicit_arguments, at);
  }
  return std::nullopt;
}

// The common type of all arguments. If it is the same for all, there is no promotion.
const Type* Lowering::unified(std::span<const Value> given, bool as_float, std::string_view name, Location at) {
  const Type* type = nullptr;
  for (const Value& value : given) {
    const Type* own = plain(value.type);
    if (!own->is_number())
      throw Rejected{at, in_quotes(name) + " takes numbers and vectors, not " + in_quotes(value.type)};
    type = type == nullptr || type == own ? own : types_.common_type(type, own, at);
  }
  if (as_float && !type->scalar()->is_floating()) return table_.with_scalar(type, table_.get(TypeKind::Float));
  return type;
}

Value Lowering::builtin_trait(const BuiltinRow& row, const TemplateArguments& arguments, Location at) {
  const size_t wanted = row.name == "kymo_is_same" ? 2 : 1;
  if (arguments.size() != wanted || arguments[0].kind != TemplateArgument::Kind::Type ||
      arguments.back().kind != TemplateArgument::Kind::Type) {
    throw Rejected{at, in_quotes(row.name) + " takes " + std::to_string(wanted) + " types"};
  }
  const QualifiedType& first = arguments[0].type;
  const Type* type = first.type;
  if (row.name == "kymo_vector_size") return rvalue(build(at).constant_uint(type->components()));
  const Type* number = type->scalar();  // a vector of integers is integral too
  bool holds = false;
  if (row.name == "kymo_is_same") {
    holds = type == arguments[1].type.type && first.is_const == arguments[1].type.is_const;
  } else if (row.name == "kymo_is_integral") {
    holds = (number->is_integer() || number->is(TypeKind::Bool)) && !number->is_enum();
  } else if (row.name == "kymo_is_floating") {
    holds = number->is_floating();
  } else if (row.name == "kymo_is_signed") {
    holds = (number->is_signed() && !number->is_enum()) || number->is_floating();
  } else if (row.name == "kymo_is_pointer") {
    holds = type->is_pointer();
  } else {
    holds = type->is_vector();
  }
  return rvalue(build(at).constant_bool(holds));
}

// ---- Numbers --------------------------------------------------------------------------------------------------------

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

// ---- Shared memory and threads --------------------------------------------------------------------------------------

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

// ---- Matrices -------------------------------------------------------------------------------------------------------

// Products of simdgroup matrices by the matrix unit of the target. library/stdlib_matrix.metal calls these.

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

// ---- Type traits ----------------------------------------------------------------------------------------------------

// The compiler's questions about types, on which headers build their traits: __is_empty(T), __is_convertible(T, U).

namespace {

bool trait_is_union(const Class& made) { return made.declaration != nullptr && made.declaration->is_union; }

}  // namespace

bool Lowering::type_trait(const ast::Expression& expression, Scope& scope) {
  // A question, with its types.
  struct Asked {
    Lowering& self;
    const TemplateArguments& types;
    Location at;
    const QualifiedType& first = types[0].type;
    const Type* type = first.type;
    const bool is_integral = (type->is_integer() || type->is(TypeKind::Bool)) && !type->is_enum();
  };
  struct Row {
    std::string_view name;
    size_t types;  // SIZE_MAX: any number
    bool (*holds)(const Asked& a);
  };
  static constexpr auto is_class = [](const Asked& a, bool of_union) {
    return a.type->is_struct() && trait_is_union(*a.self.types_.class_of(a.type)) == of_union;
  };
  static constexpr auto is_same = [](const Asked& a) {
    return a.type == a.types[1].type.type && a.first.is_const == a.types[1].type.is_const;
  };
  static constexpr auto is_trivial = [](const Asked& a) {
    return !a.type->is(TypeKind::Reference) && !a.type->is(TypeKind::Void);
  };
  static constexpr auto converts = [](const Asked& a) { return a.self.is_convertible(a.first, a.types[1].type); };
  static constexpr auto refers = [](const Asked& a) { return a.type->is(TypeKind::Reference); };
  static constexpr Row kTraits[] = {
      {"__is_arithmetic", 1, [](const Asked& a) { return a.is_integral || a.type->is_floating(); }},
      {"__is_array", 1, [](const Asked& a) { return a.type->is_array(); }},
      {"__is_assignable", 2,
       [](const Asked& a) {
         return refers(a) && !a.type->is_const && a.self.is_convertible(a.types[1].type, {.type = a.type->inner});
       }},
      {"__is_base_of", 2,
       [](const Asked& a) {
         const Class* base = a.self.types_.class_of(a.type);
         const Class* derived = a.self.types_.class_of(a.types[1].type.type);
         return base != nullptr && derived != nullptr && (base == derived || a.self.types_.is_derived(*derived, *base));
       }},
      {"__is_class", 1, [](const Asked& a) { return is_class(a, false); }},
      {"__is_const", 1, [](const Asked& a) { return a.first.is_const; }},
      {"__is_constructible", SIZE_MAX,
       [](const Asked& a) { return a.self.is_constructible(a.first, std::span(a.types).subspan(1), a.at); }},
      {"__is_convertible", 2, converts},
      {"__is_convertible_to", 2, converts},
      {"__is_empty", 1,
       [](const Asked& a) { return a.self.types_.class_of(a.type) != nullptr && a.type->fields.empty(); }},
      {"__is_enum", 1, [](const Asked& a) { return a.type->is_enum(); }},
      {"__is_floating_point", 1, [](const Asked& a) { return a.type->is_floating(); }},
      {"__is_function", 1, [](const Asked&) { return false; }},  // there are no types of functions
      {"__is_integral", 1, [](const Asked& a) { return a.is_integral; }},
      {"__is_lvalue_reference", 1, refers},
      {"__is_pod", 1, is_trivial},
      {"__is_pointer", 1, [](const Asked& a) { return a.type->is_pointer(); }},
      {"__is_reference", 1, refers},
      {"__is_same", 2, is_same},
      {"__is_same_as", 2, is_same},
      {"__is_scalar", 1,
       [](const Asked& a) {
         return a.is_integral || a.type->is_enum() || a.type->is_floating() || a.type->is_pointer();
       }},
      {"__is_signed", 1,
       [](const Asked& a) { return (a.type->is_signed() && !a.type->is_enum()) || a.type->is_floating(); }},
      {"__is_standard_layout", 1, is_trivial},
      {"__is_trivial", 1, is_trivial},
      {"__is_trivially_copyable", 1, is_trivial},
      {"__is_union", 1, [](const Asked& a) { return is_class(a, true); }},
      {"__is_unsigned", 1, [](const Asked& a) { return a.is_integral && !a.type->is_signed(); }},
      {"__is_void", 1, [](const Asked& a) { return a.type->is(TypeKind::Void); }},
  };
  const std::string_view name = expression.name.last().name;
  const Location at = expression.at;
  const auto* const row = std::ranges::find(kTraits, name, &Row::name);
  if (row == std::end(kTraits))
    throw Rejected{at, base::format("{} is not supported: use the traits of <metal_type_traits>", in_quotes(name))};
  const TemplateArguments types = templates_.evaluate_arguments(expression.name.last().arguments, scope);
  if (types.empty() || (row->types != SIZE_MAX && types.size() != row->types))
    throw Rejected{at, base::format("{} takes {} types, not {}", in_quotes(name), row->types, types.size())};
  return row->holds({*this, types, at});
}

bool Lowering::is_convertible(const QualifiedType& from, const QualifiedType& to) {
  if (from.type->is(TypeKind::Void) || to.type->is(TypeKind::Void)) return from.type == to.type;
  if (to.type->is_array()) return false;
  Value value;
  value.is_place = from.type->is(TypeKind::Reference);
  value.type = value.is_place ? from.type->inner : from.type;
  value.is_const = value.is_place ? from.type->is_const : from.is_const;
  if (value.is_place) value.space = from.type->space;
  types_.class_of(value.type);
  try {
    return overloads_.rank(value, to) != Rank::Impossible;
  } catch (const Rejected& rejected) {
    if (rejected.text.empty()) throw;
    return false;
  }
}

bool Lowering::is_constructible(const QualifiedType& type, std::span<const TemplateArgument> from, Location at) {
  Class* made = types_.class_of(type.type);
  if (made == nullptr || !has_constructors(*made)) {
    if (from.empty()) return !type.type->is(TypeKind::Void) && !type.type->is(TypeKind::Reference);
    return from.size() == 1 && is_convertible(from[0].type, type);
  }
  const auto constructors = made->scope->own(kConstructorName);
  OverloadSet set{.name = kConstructorName, .candidates = {constructors.begin(), constructors.end()}, .at = at};
  std::vector<Value> values;
  for (const TemplateArgument& each : from) {
    Value& value = values.emplace_back();
    const Type* given = each.type.type;
    value.is_place = given->is(TypeKind::Reference);
    value.type = value.is_place ? given->inner : given;
  }
  try {
    return overloads_.try_choose(set, values).has_value();
  } catch (const Rejected&) {
    return false;
  }
}

}  // namespace kymo::shader
