
#include "base/text.h"
#include "shader/emit/c_cuda.h"
#include "shader/emit/walk.h"

namespace kymo::shader {
namespace {

using ir::Intrinsic;

// By the order of the enumeration, from Abs to MulHi. Those with a prefix are pieces of the prelude.
constexpr std::string_view kCudaPrefix = "kymo_";
constexpr std::string_view kCudaFunctions[] = {"fabsf",         "floorf",   "ceilf",
                                               "truncf",        "rintf",    "sqrtf",
                                               "kymo_rsqrt",    "expf",     "exp2f",
                                               "exp10f",        "logf",     "log2f",
                                               "log10f",        "sinf",     "cosf",
                                               "tanf",          "asinf",    "acosf",
                                               "atanf",         "sinhf",    "coshf",
                                               "tanhf",         "asinhf",   "acoshf",
                                               "atanhf",        "fminf",    "fmaxf",
                                               "fmodf",         "powf",     "atan2f",
                                               "copysignf",     "fmaf",     "kymo_isnan",
                                               "kymo_isinf",    "kymo_min", "kymo_max",
                                               "kymo_popcount", "kymo_clz", "kymo_reverse_bits",
                                               "kymo_mul_hi"};

}  // namespace

CText CudaDialect::intrinsic(const ir::Expression& expression, std::span<CText> operands, const CHidden& hidden) {
  if (static_cast<size_t>(expression.intrinsic) < std::size(kCudaFunctions)) return function(expression, operands);
  switch (expression.intrinsic) {
    case Intrinsic::Any:
      prelude.use("any");
      return c_call_with("kymo_any", operands);
    case Intrinsic::All:
      prelude.use("all");
      return c_call_with("kymo_all", operands);
    case Intrinsic::Select:
      prelude.use(expression.operands[2]->type->is_vector() ? "select" : "select_scalar");
      return c_call_with("kymo_select", operands);
    case Intrinsic::GroupBarrier:
      return {"__syncthreads()"};
    case Intrinsic::SimdBarrier:
      return {"__syncwarp()"};
    case Intrinsic::Fence:
      return {(expression.index & 1) != 0 ? "__threadfence()" : "__threadfence_block()"};
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
  if (expression.intrinsic >= Intrinsic::SimdSum) return collective(expression, operands);
  return atomic(expression, operands);
}

CText CudaDialect::function(const ir::Expression& expression, std::span<CText> operands) {
  const std::string_view name = kCudaFunctions[static_cast<size_t>(expression.intrinsic)];
  if (name.starts_with(kCudaPrefix)) prelude.use(name.substr(kCudaPrefix.size()));
  if (expression.operands[0]->type->is_vector()) {
    if (operands.size() == 1)
      prelude.use("each1", {name, scalar(held_as(expression.type->inner)) == "bool" ? "bool" : "T"});
    else if (operands.size() == 2)
      prelude.use("each2", {name});
    else
      prelude.use("fma_vector");
  }
  return c_call_with(name, operands);
}

// ---- Atomics -------------------------------------------------------------------------------------------------------

CText CudaDialect::atomic(const ir::Expression& expression, std::span<CText> operands) {
  const Type* value = expression.operands[0]->type->inner->inner;
  const bool is_bool = value->is(TypeKind::Bool), is_float = value->is(TypeKind::Float);
  if (is_bool)
    for (CText& operand : operands.subspan(1)) operand = c_cast("uint", std::move(operand));
  const auto result = [&](CText text) {
    return is_bool && !expression.type->is(TypeKind::Void) ? c_binary(ir::Operator::NotEqual, std::move(text), {"0u"})
                                                           : text;
  };
  const std::string memory = base::format("volatile {}*", is_bool ? "uint" : scalar(value->kind));
  if (expression.intrinsic == Intrinsic::AtomicLoad)
    return result(c_prefix("*", c_cast(memory, std::move(operands[0]))));
  if (expression.intrinsic == Intrinsic::AtomicStore)
    return {c_prefix("*", c_cast(memory, std::move(operands[0]))).text + " = " + operands[1].text,
            Binding::Conditional};
  constexpr std::string_view kNames[] = {"exchange", "compare_exchange", "add", "subtract", "and", "or", "xor", "min",
                                         "max"};
  constexpr std::string_view kFunctions[] = {"",         "",          "",          "",         "atomicAnd",
                                             "atomicOr", "atomicXor", "atomicMin", "atomicMax"};
  const size_t which = static_cast<size_t>(expression.intrinsic) - static_cast<size_t>(Intrinsic::AtomicExchange);
  const std::string name = base::format("atomic_{}", kNames[which]);
  if (kFunctions[which].empty())
    prelude.use(name);
  else if (is_float)
    prelude.use("atomic_float", {kNames[which], kNames[which] == "min" ? "fminf(old, value)" : "fmaxf(old, value)"});
  else
    prelude.use("atomic_integer", {kNames[which], kFunctions[which]});
  return result(c_call_with("kymo_" + name, operands));
}

// ---- Simdgroups ----------------------------------------------------------------------------------------------------

CText CudaDialect::collective(const ir::Expression& expression, std::span<CText> operands) {
  const Intrinsic intrinsic = expression.intrinsic;
  if (intrinsic == Intrinsic::GroupAny) {
    // In a loop without barriers no operation needs more threads than those of the warp to come along.
    const std::string_view piece = expression.index != 0 ? "group_any" : "warp_any";
    prelude.use(piece);
    return c_call_with(base::format("kymo_{}", piece), operands);
  }
  if (intrinsic == Intrinsic::SimdMatrix) {  // all lanes come to it, whether they are active or not
    const std::string_view type = expression.index == 0 ? "f16" : "bf16";
    prelude.use("simd_matrix", {type});
    return c_call_with(base::format("kymo_simd_matrix_{}", type), operands.first(3));
  }
  if (intrinsic == Intrinsic::SimdShuffle && expression.index == 1) {
    prelude.use("simd_shuffle_of_all");
    return c_call_with("kymo_simd_shuffle_of_all", operands.first(2));
  }
  std::vector<CText> arguments(operands.begin(), operands.end());
  if (operands.size() == (intrinsic == Intrinsic::SimdShuffle ? 2 : 1)) arguments.push_back({"true"});
  const bool is_float = expression.type->is(TypeKind::Float);
  const auto scan = [&](std::string_view piece, std::string_view word, std::string_view sign, std::string_view start) {
    prelude.use(piece, {word, sign, start});
    return c_call_with(base::format("kymo_{}_{}", piece, word), arguments);
  };
  switch (intrinsic) {
    case Intrinsic::SimdShuffle:
      prelude.use("simd_shuffle");
      return c_call_with("kymo_simd_shuffle", arguments);
    case Intrinsic::SimdBallot:
      prelude.use("simd_ballot");
      return c_call_with("kymo_simd_ballot", arguments);
    case Intrinsic::SimdInclusiveSum:
      return scan("simd_inclusive", "sum", "+", "0");
    case Intrinsic::SimdExclusiveSum:
      return scan("simd_exclusive", "sum", "+", "0");
    case Intrinsic::SimdInclusiveProduct:
      return scan("simd_inclusive", "product", "*", "1");
    case Intrinsic::SimdExclusiveProduct:
      return scan("simd_exclusive", "product", "*", "1");
    default:
      break;
  }
  constexpr std::string_view kWords[] = {"sum", "product", "min", "max", "and", "or", "xor"};
  constexpr std::string_view kCombined[] = {"a + b", "a * b", "b < a ? b : a", "a < b ? b : a",
                                            "a & b", "a | b", "a ^ b"};
  const size_t which = static_cast<size_t>(intrinsic) - static_cast<size_t>(Intrinsic::SimdSum);
  std::string_view combined = kCombined[which];
  std::string word(kWords[which]);
  if (is_float && (which == 2 || which == 3)) {
    combined = which == 2 ? "fminf(a, b)" : "fmaxf(a, b)";
    word = "f" + word;
  }
  prelude.use("simd_reduce", {word, combined});
  return c_call_with("kymo_simd_" + word, arguments);
}

// ---- Positions -----------------------------------------------------------------------------------------------------

CText CudaDialect::position(Intrinsic intrinsic, uint32_t component, const CHidden& hidden) {
  const std::string_view d = component_name(component);
  const std::string_view grid = hidden.grid;
  switch (intrinsic) {
    case Intrinsic::GridPosition: {
      const std::string start = grid.empty() ? std::string() : base::format("{}.offset[{}] + ", grid, component);
      return {base::format("{0}blockIdx.{1} * blockDim.{1} + threadIdx.{1}", start, d), Binding::Sum};
    }
    case Intrinsic::GroupPosition:
      return {base::format("threadIdx.{}", d)};
    case Intrinsic::GroupIndex:
      if (grid.empty()) return {base::format("blockIdx.{}", d)};
      return {base::format("{0}.offset[{1}] / {0}.group[{1}] + blockIdx.{2}", grid, component, d), Binding::Sum};
    case Intrinsic::GroupSize:
      prelude.use("group_size_in_piece");
      return {base::format("kymo_group_size({0}, {1}, blockDim.{2}, blockIdx.{2})", grid, component, d)};
    case Intrinsic::GridSize:
      return {base::format("{}.threads[{}]", grid, component)};
    case Intrinsic::FullGroupSize:
      return {grid.empty() ? base::format("blockDim.{}", d) : base::format("{}.group[{}]", grid, component)};
    default:
      if (grid.empty()) return {base::format("gridDim.{}", d)};
      prelude.use("group_count_in_piece");
      return {base::format("kymo_group_count({0}.threads[{1}], {0}.group[{1}])", grid, component)};
  }
}

CText CudaDialect::whole_position(Intrinsic intrinsic, const CHidden& hidden) {
  constexpr std::string_view kNames[] = {"grid_position", "group_position", "group_index",    "grid_size",
                                         "group_size",    "group_count",    "full_group_size"};
  const std::string_view name = kNames[static_cast<size_t>(intrinsic) - static_cast<size_t>(Intrinsic::GridPosition)];
  const bool in_piece = !hidden.grid.empty() && intrinsic != Intrinsic::GroupPosition;
  prelude.use(base::format("{}{}", name, in_piece ? "_in_piece" : ""));
  return {base::format("kymo_{}({})", name, in_piece ? hidden.grid : std::string_view())};
}

}  // namespace kymo::shader
