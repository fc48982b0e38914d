
#include "base/text.h"
#include "shader/emit/c_opencl.h"
#include "shader/emit/walk.h"

namespace kymo::shader {
namespace {

using ir::Intrinsic;

// By the order of the enumeration, from Abs on; empty: not simply a function.
constexpr std::string_view kOpenClFunctions[] = {
    "fabs",     "floor", "ceil",  "trunc", "rint",  "sqrt", "",         "exp",  "exp2", "exp10",
    "log",      "log2",  "log10", "sin",   "cos",   "tan",  "asin",     "acos", "atan", "sinh",
    "cosh",     "tanh",  "asinh", "acosh", "atanh", "fmin", "fmax",     "fmod", "pow",  "atan2",
    "copysign", "fma",   "",      "",      "min",   "max",  "popcount", "clz",  "",     "mul_hi"};

std::string_view opencl_function(Intrinsic intrinsic) {
  const auto index = static_cast<size_t>(intrinsic);
  return index < std::size(kOpenClFunctions) ? kOpenClFunctions[index] : std::string_view();
}

std::string_view opencl_fences(uint32_t flags) {
  if (flags == 3) return "CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE";
  return flags == 1 ? "CLK_GLOBAL_MEM_FENCE" : "CLK_LOCAL_MEM_FENCE";
}

// The value that changes no other value: x + -0 is x even for -0, and fmin and fmax ignore a NaN.
std::string_view opencl_neutral(Intrinsic intrinsic, const Type* type) {
  const bool is_float = type->is(TypeKind::Float), is_long = type->size == 8;
  switch (intrinsic) {
    case Intrinsic::SimdSum:
      if (is_float) return "-0.0f";
      break;
    case Intrinsic::SimdProduct:
      return is_float ? "1.0f" : is_long ? "1l" : "1";
    case Intrinsic::SimdMin:
      if (is_float) return "NAN";
      if (type->is_signed()) return is_long ? "LONG_MAX" : "INT_MAX";
      [[fallthrough]];
    case Intrinsic::SimdAnd:
      return is_long ? "-1l" : "-1";
    case Intrinsic::SimdMax:
      if (is_float) return "NAN";
      if (type->is_signed()) return is_long ? "LONG_MIN" : "INT_MIN";
      break;
    default:
      break;
  }
  return is_long ? "0l" : "0";
}

}  // namespace

CText OpenClDialect::intrinsic(const ir::Expression& expression, std::span<CText> operands, const CHidden& hidden) {
  const Type* type = expression.operands.empty() ? nullptr : expression.operands[0]->type;
  if (const std::string_view function = opencl_function(expression.intrinsic); !function.empty())
    return c_call_with(function, operands);
  switch (expression.intrinsic) {
    case Intrinsic::Rsqrt:
      return c_binary(ir::Operator::Divide, {"1.0f"}, c_call_with("sqrt", operands));
    case Intrinsic::IsNan:
    case Intrinsic::IsInf: {
      CText text = c_call_with(expression.intrinsic == Intrinsic::IsNan ? "isnan" : "isinf", operands);
      return type->is_vector() ? as_bools(type->count, std::move(text)) : c_cast("bool", std::move(text));
    }
    case Intrinsic::ReverseBits:
      return reverse_bits(type, std::move(operands[0]));
    case Intrinsic::Any:
    case Intrinsic::All: {
      CText test = c_binary(ir::Operator::NotEqual, std::move(operands[0]), {"(uchar)0", Binding::Prefix});
      return c_cast("bool", c_call(expression.intrinsic == Intrinsic::Any ? "any" : "all", std::move(test)));
    }
    case Intrinsic::Select:
      return select(expression, operands);
    case Intrinsic::GroupBarrier:
    case Intrinsic::SimdBarrier:
      if (expression.index == ir::kEndOfLoop) {
        prelude.use("end_of_loop");
        return {"KYMO_END_OF_LOOP"};
      }
      return {base::format("barrier({})", opencl_fences(expression.index))};
    case Intrinsic::Fence:
      return {base::format("mem_fence({})", opencl_fences(expression.index))};
    case Intrinsic::SimdLane:
    case Intrinsic::SimdIndex: {
      prelude.use("thread_in_group");
      const bool is_lane = expression.intrinsic == Intrinsic::SimdLane;
      return {is_lane ? "kymo_thread_in_group() % 32u" : "kymo_thread_in_group() / 32u", Binding::Product};
    }
    default:
      break;
  }
  if (is_position(expression.intrinsic)) return whole_position(expression.intrinsic, hidden);
  if (expression.intrinsic >= Intrinsic::SimdSum) return collective(expression, operands, hidden);
  return atomic(expression, operands);
}

CText OpenClDialect::reverse_bits(const Type* type, CText operand) {
  TypeKind kind = type->scalar()->kind;
  const bool is_signed = type->scalar()->is_signed();
  if (is_signed) kind = static_cast<TypeKind>(static_cast<int>(kind) + 1);
  const std::string name = type->is_vector() ? vector(kind, type->count) : std::string(scalar(kind));
  prelude.use(base::format("reverse_bits_{}", type->scalar()->size * 8), {name});
  if (is_signed) operand = c_call("as_" + name, std::move(operand));
  CText text = c_call("kymo_reverse_bits_" + name, std::move(operand));
  if (!is_signed) return text;
  return c_call("as_" + (type->is_vector() ? vector_of(type) : std::string(scalar(type->kind))), std::move(text));
}

// ---- Atomics -------------------------------------------------------------------------------------------------------

CText OpenClDialect::atomic(const ir::Expression& expression, std::span<CText> operands) {
  const Type* pointer = expression.operands[0]->type;
  const Type* value = pointer->inner->inner;
  const bool is_bool = value->is(TypeKind::Bool), is_float = value->is(TypeKind::Float);
  const bool is_64 = value->size == 8;
  if (is_bool)
    for (CText& operand : operands.subspan(1)) operand = c_cast("uint", std::move(operand));
  const auto result = [&](CText text) {
    return is_bool && !expression.type->is(TypeKind::Void) ? c_binary(ir::Operator::NotEqual, std::move(text), {"0u"})
                                                           : text;
  };
  const std::string memory =
      base::format("volatile {}{}*", space(pointer->space), is_bool ? "uint" : scalar(value->kind));
  if (expression.intrinsic == Intrinsic::AtomicLoad)
    return result(c_prefix("*", c_cast(memory, std::move(operands[0]))));

  constexpr std::string_view kNames[] = {"", "xchg", "xchg", "cmpxchg", "add", "sub", "and", "or", "xor", "min", "max"};
  const size_t which = static_cast<size_t>(expression.intrinsic) - static_cast<size_t>(Intrinsic::AtomicLoad);
  if (is_64) prelude.use(which <= 5 ? "atomic_64" : "atomic_64_more");
  if (is_float && expression.intrinsic == Intrinsic::AtomicCompareExchange) {
    const std::string bits = base::format("(volatile {}uint*)", space(pointer->space));
    return c_call("as_float",
                  c_call("atomic_cmpxchg", CText{bits + std::move(operands[0]).in(Binding::Prefix)},
                         c_call("as_uint", std::move(operands[1])), c_call("as_uint", std::move(operands[2]))));
  }
  if (is_float && which > 3) {
    const std::string_view combined = kNames[which] == "add"   ? "old + value"
                                      : kNames[which] == "sub" ? "old - value"
                                      : kNames[which] == "min" ? "fmin(old, value)"
                                                               : "fmax(old, value)";
    const std::string_view in = pointer->space == Space::Threadgroup ? "local" : "global";
    const std::string name = base::format("{}_float_{}", kNames[which], in);
    std::string_view spelled = space(pointer->space);
    spelled.remove_suffix(1);
    prelude.use("atomic_float", {name, spelled, combined});
    return c_call_with("kymo_atomic_" + name, operands);
  }
  return result(c_call_with(base::format("{}_{}", is_64 ? "atom" : "atomic", kNames[which]), operands));
}

// ---- Simdgroups ----------------------------------------------------------------------------------------------------

CText OpenClDialect::collective(const ir::Expression& expression, std::span<CText> operands, const CHidden& hidden) {
  const Intrinsic intrinsic = expression.intrinsic;
  std::vector<CText> arguments{{std::string(hidden.simd)}};
  for (CText& operand : operands) arguments.push_back(std::move(operand));
  if (intrinsic == Intrinsic::GroupAny) {
    prelude.use("group_any");
    return c_call_with("kymo_group_any", arguments);
  }
  const size_t own = intrinsic == Intrinsic::SimdMatrix ? 3 : intrinsic == Intrinsic::SimdShuffle ? 2 : 1;
  if (operands.size() == own) arguments.push_back({"true"});
  if (intrinsic == Intrinsic::SimdBallot) {
    prelude.use("simd_ballot");
    return c_call_with("kymo_simd_ballot", arguments);
  }
  if (intrinsic == Intrinsic::SimdMatrix) {
    prelude.use("simd_matrix");
    return c_call_with("kymo_simd_matrix", arguments);
  }
  const Type* type = expression.type;
  const std::string_view name = scalar(type->kind);
  const bool is_float = type->is(TypeKind::Float);
  const std::string_view bits = type->size == 8 ? "ulong" : "uint";
  if (intrinsic == Intrinsic::SimdShuffle) {
    prelude.use("simd_shuffle", {name, bits});
    return c_call_with(base::format("kymo_simd_shuffle_{}", name), arguments);
  }
  const bool is_product = intrinsic == Intrinsic::SimdInclusiveProduct || intrinsic == Intrinsic::SimdExclusiveProduct;
  const std::string_view sign = is_product ? "*" : "+";
  const std::string_view word = is_product ? "product" : "sum";
  const std::string_view start = is_product ? (is_float ? "1.0f" : "1") : (is_float ? "0.0f" : "0");
  if (intrinsic == Intrinsic::SimdInclusiveSum || intrinsic == Intrinsic::SimdInclusiveProduct) {
    prelude.use("simd_inclusive", {word, name, bits, sign, start});
    return c_call_with(base::format("kymo_simd_inclusive_{}_{}", word, name), arguments);
  }
  if (intrinsic == Intrinsic::SimdExclusiveSum || intrinsic == Intrinsic::SimdExclusiveProduct) {
    prelude.use("simd_exclusive", {word, name, bits, sign, start});
    return c_call_with(base::format("kymo_simd_exclusive_{}_{}", word, name), arguments);
  }
  constexpr std::string_view kWords[] = {"sum", "product", "min", "max", "and", "or", "xor"};
  constexpr std::string_view kOfFloats[] = {"KYMO_SUM", "KYMO_PRODUCT", "fmin", "fmax"};
  constexpr std::string_view kOfIntegers[] = {"KYMO_SUM", "KYMO_PRODUCT", "min",     "max",
                                              "KYMO_AND", "KYMO_OR",      "KYMO_XOR"};
  const size_t which = static_cast<size_t>(intrinsic) - static_cast<size_t>(Intrinsic::SimdSum);
  prelude.use("simd_reduce", {kWords[which], name, bits, is_float ? kOfFloats[which] : kOfIntegers[which],
                              opencl_neutral(intrinsic, type)});
  return c_call_with(base::format("kymo_simd_{}_{}", kWords[which], name), arguments);
}

// ---- Positions -----------------------------------------------------------------------------------------------------

CText OpenClDialect::position(Intrinsic intrinsic, uint32_t component, const CHidden& hidden) {
  const auto own = [&](std::string_view function) -> CText {
    return {base::format("(uint){}({})", function, component), Binding::Prefix};
  };
  switch (intrinsic) {
    case Intrinsic::GridPosition:
      return own("get_global_id");
    case Intrinsic::GroupPosition:
      return own("get_local_id");
    case Intrinsic::GroupSize:
      return own("get_local_size");
    case Intrinsic::GridSize:
      return {base::format("{}.threads[{}]", hidden.grid, component)};
    case Intrinsic::FullGroupSize:
      return {base::format("{}.group[{}]", hidden.grid, component)};
    case Intrinsic::GroupIndex:
      prelude.use("group_index");
      return {base::format("kymo_group_index_in({}, {})", hidden.grid, component)};
    default:
      prelude.use("group_count");
      return {base::format("kymo_group_count_in({}, {})", hidden.grid, component)};
  }
}

CText OpenClDialect::whole_position(Intrinsic intrinsic, const CHidden& hidden) {
  constexpr std::string_view kNames[] = {"grid_position", "group_position", "group_index",    "grid_size",
                                         "group_size",    "group_count",    "full_group_size"};
  const std::string_view name = kNames[static_cast<size_t>(intrinsic) - static_cast<size_t>(Intrinsic::GridPosition)];
  prelude.use(name);
  return {base::format("kymo_{}({})", name, needs_grid(intrinsic, true) ? hidden.grid : std::string_view())};
}

}  // namespace kymo::shader
