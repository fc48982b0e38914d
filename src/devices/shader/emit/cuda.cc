// CUDA C++ for NVRTC, without any header. Vectors are the prelude's kymo_vec<T, N>; a simdgroup is a warp.

#include "base/text.h"
#include "shader/embedded.h"
#include "shader/emit/c_dialect.h"
#include "shader/emit/unroll.h"
#include "shader/ir/uses.h"

namespace kymo::shader {
namespace {

using ir::Intrinsic;

const CPieces& cuda_pieces() {
  static const CPieces pieces = [] {
    CPieces all = read_pieces(embedded::prelude_cuda_cu);
    all.merge(read_pieces(embedded::prelude_cuda_threads_cu));
    return all;
  }();
  return pieces;
}

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

class CudaDialect final : public CDialect {
 public:
  CudaDialect()
      : CDialect(cuda_pieces(), {.unrolls_without_wish = true,
                                 .pointers_lose_const = true,
                                 .pieces_need_grid = true,
                                 .group_memory_by_offset = true,
                                 .aligns_group_arrays = true}) {
    prelude.use("types");
  }

  const Reserved& reserved() const override {
    static const Reserved words = read_reserved(embedded::reserved_cuda_txt);
    return words;
  }
  std::string_view opening() const override { return "// For NVRTC with --fmad=false.\n"; }

  std::string_view scalar(TypeKind kind) const override {
    constexpr std::string_view kNames[] = {"void", "bool", "schar", "uchar", "short", "ushort", "int",
                                           "uint", "long", "ulong", "float", "float", "float"};
    return kNames[static_cast<size_t>(kind)];
  }

  std::string vector(TypeKind component, uint32_t count) override {
    const std::string_view name = component == TypeKind::Char ? "char" : scalar(component);
    const std::string number = std::to_string(count);
    prelude.use("alias", {name, scalar(component), number});
    return base::format("kymo_{}{}", name, count);
  }

  std::string_view space(Space) const override { return ""; }

  std::string forward(std::string_view structure, bool is_defined_next) const override {
    return is_defined_next ? std::string() : base::format("struct {};\n", structure);
  }

  std::string aliasing(std::string_view, std::string_view) const override { return ""; }

  std::string aligned(uint32_t align) const override { return base::format("alignas({}) ", align); }
  std::string_view function_head(bool) const override { return "static __device__ "; }

  std::string kernel_head(uint32_t max_threads) const override {
    if (max_threads == 0) return "extern \"C\" __global__ void ";
    return base::format("extern \"C\" __global__ void __launch_bounds__({}) ", max_threads);
  }

  std::string_view group_head() const override { return "__shared__ "; }
  std::string_view program_head() const override { return "static __device__ const "; }

  std::string aggregate(std::string_view type, std::string_view parts) const override {
    return base::format("{}{{{}}}", type, parts);
  }

  std::string_view zeros() const override { return ""; }
  std::string unrolling(uint16_t wish) const override { return unroll_pragma(wish); }

  // Where groups end is not known to blockDim; and a kernel with simdgroups may see a piece of its launch.
  bool needs_grid(Intrinsic intrinsic, bool is_kernel) const override {
    switch (intrinsic) {
      case Intrinsic::GridSize:
      case Intrinsic::GroupSize:
        return true;
      case Intrinsic::GridPosition:
      case Intrinsic::GroupIndex:
      case Intrinsic::GroupCount:
      case Intrinsic::FullGroupSize:
        return !is_kernel;
      default:
        return false;
    }
  }

  std::string float_of_bits(uint32_t bits) const override { return base::format("__uint_as_float({:#010x}u)", bits); }

  CText convert16(std::string_view function, bool gives_bits, uint32_t count, CText operand) override {
    prelude.use(function.substr(std::string_view("kymo_").size()));
    if (count > 1) prelude.use("each1", {function, gives_bits ? "ushort" : "float"});
    return c_call(function, std::move(operand));
  }

  CText bitcast(std::string_view type, CText bits) override {
    prelude.use("bitcast");
    return c_call(base::format("kymo_bitcast<{}>", type), std::move(bits));
  }

  CText unary(ir::Operator op, const Type*, CText operand) override {
    prelude.use("unary", {operator_sign(op)});
    return c_prefix(operator_sign(op), std::move(operand));
  }

  CText binary(ir::Operator op, const Type* type, const Type* right_type, CText left, CText right) override {
    const bool compares = op >= ir::Operator::Equal && op <= ir::Operator::GreaterEqual;
    prelude.use(compares ? "comparison" : "arithmetic", {operator_sign(op)});
    if (!right_type->is_vector()) right = c_call(vector(held_as(right_type), type->count), std::move(right));
    return c_binary(op, std::move(left), std::move(right));
  }

  CText convert(const Type*, const Type* to, CText operand) override {
    prelude.use("convert");
    return c_call(base::format("kymo_convert<{}>", scalar(held_as(to->inner))), std::move(operand));
  }

  CText splat(const Type* type, CText component) override {
    return c_call(vector(held_as(type->inner), type->count), std::move(component));
  }

  CText construct(std::string_view type, std::string_view component, bool has_vectors,
                  std::span<const CText> parts) override {
    if (!has_vectors) return c_call_with(type, parts);
    prelude.use("join");
    return c_call_with(base::format("kymo_join<{}, {}>", type, component), parts);
  }

  std::string initializer(std::string_view, std::string_view components) const override {
    return base::format("{{{}}}", components);
  }

  CText component(const Type*, CText vector, CText index) override {
    return {base::format("{}.at({})", std::move(vector).in(Binding::Postfix), index.text)};
  }

  CText swizzle(CText vector, std::span<const uint8_t> components) override {
    prelude.use("swizzle");
    std::string list;
    for (const uint8_t component : components) (list += list.empty() ? "" : ", ") += std::to_string(component);
    return c_call(base::format("kymo_swizzle<{}>", list), std::move(vector));
  }

  CText component_place(std::string_view, std::string_view, CText vector, CText index) override {
    return {base::format("{}[{}]", std::move(vector).in(Binding::Postfix), index.text)};
  }

  CText loose_load(uint32_t, std::string_view, std::string_view, CText place) override {
    prelude.use("loose");
    return c_call("kymo_loose_load", c_prefix("&", std::move(place)));
  }

  std::string loose_store(uint32_t, std::string_view, std::string_view, CText place, CText value) override {
    prelude.use("loose");
    return base::format("kymo_loose_store({}, {})", c_prefix("&", std::move(place)).text, value.text);
  }

  CText position(Intrinsic intrinsic, uint32_t component, const CHidden& hidden) override {
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

 private:
  CText function(const ir::Expression& expression, std::span<CText> operands) override {
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
      default:
        break;
    }
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

  CText atomic(const ir::Expression& expression, const std::string& memory, std::span<CText> operands) override {
    const bool is_float = expression.operands[0]->type->inner->inner->is(TypeKind::Float);
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
    return c_call_with("kymo_" + name, operands);
  }

  CText collective(const ir::Expression& expression, std::span<CText> operands, const CHidden&) override {
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
    if (intrinsic == Intrinsic::SimdShuffle || intrinsic == Intrinsic::SimdBallot) {
      const std::string_view piece = intrinsic == Intrinsic::SimdShuffle ? "simd_shuffle" : "simd_ballot";
      prelude.use(piece);
      return c_call_with(base::format("kymo_{}", piece), arguments);
    }
    std::string word(reduction_name(intrinsic));
    if (is_scan(intrinsic)) {
      const std::string_view piece = is_inclusive(intrinsic) ? "simd_inclusive" : "simd_exclusive";
      const bool is_sum = word == "sum";
      prelude.use(piece, {word, is_sum ? "+" : "*", is_sum ? "0" : "1"});
      return c_call_with(base::format("kymo_{}_{}", piece, word), arguments);
    }
    constexpr std::string_view kCombined[] = {"a + b", "a * b", "b < a ? b : a", "a < b ? b : a",
                                              "a & b", "a | b", "a ^ b"};
    const size_t which = static_cast<size_t>(intrinsic) - static_cast<size_t>(Intrinsic::SimdSum);
    std::string_view combined = kCombined[which];
    if (is_float && (which == 2 || which == 3)) {
      combined = which == 2 ? "fminf(a, b)" : "fmaxf(a, b)";
      word = "f" + word;
    }
    prelude.use("simd_reduce", {word, combined});
    return c_call_with("kymo_simd_" + word, arguments);
  }

  CText whole_position(Intrinsic intrinsic, const CHidden& hidden) override {
    const std::string_view name = position_name(intrinsic);
    const bool in_piece = !hidden.grid.empty() && intrinsic != Intrinsic::GroupPosition;
    prelude.use(base::format("{}{}", name, in_piece ? "_in_piece" : ""));
    return {base::format("kymo_{}({})", name, in_piece ? hidden.grid : std::string_view())};
  }
};

}  // namespace

std::unique_ptr<CDialect> cuda_dialect() { return std::make_unique<CudaDialect>(); }

Emitted emit_cuda(const ir::Module& module, const SourceFiles* lines) {
  const std::unique_ptr<CDialect> dialect = cuda_dialect();
  dialect->lines = lines;
  return emit_c(module, *dialect);
}

}  // namespace kymo::shader
