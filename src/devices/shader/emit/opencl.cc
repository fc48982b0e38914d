// OpenCL C 1.2. All buffers are __global, because with shared virtual memory their addresses are plain numbers. Vectors
// are native; vectors of bool are vectors of uchar with 0 or 1.

#include "base/text.h"
#include "shader/embedded.h"
#include "shader/emit/c_dialect.h"
#include "shader/emit/unroll.h"
#include "shader/ir/uses.h"

namespace kymo::shader {
namespace {

using ir::Intrinsic;

const CPieces& opencl_pieces() {
  static const CPieces pieces = read_pieces(embedded::prelude_opencl_cl);
  return pieces;
}

// The signed integer that is as wide.
std::string_view opencl_signed_like(TypeKind kind) {
  switch (kind) {
    case TypeKind::Bool:
    case TypeKind::Char:
    case TypeKind::UChar:
      return "char";
    case TypeKind::Short:
    case TypeKind::UShort:
      return "short";
    case TypeKind::Long:
    case TypeKind::ULong:
      return "long";
    default:
      return "int";
  }
}

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

class OpenClDialect final : public CDialect {
 public:
  OpenClDialect()
      : CDialect(opencl_pieces(), {.needs_simd_memory = true, .trusts_argument_types = true, .has_swizzles = true}) {}

  const Reserved& reserved() const override {
    static const Reserved words = read_reserved(embedded::reserved_opencl_txt);
    return words;
  }
  std::string_view opening() const override { return "#pragma OPENCL FP_CONTRACT OFF\n"; }

  std::string_view scalar(TypeKind kind) const override {
    constexpr std::string_view kNames[] = {"void", "bool", "char",  "uchar", "short", "ushort", "int",
                                           "uint", "long", "ulong", "float", "float", "float"};
    return kNames[static_cast<size_t>(kind)];
  }

  std::string vector(TypeKind component, uint32_t count) override {
    return base::format("{}{}", component == TypeKind::Bool ? "uchar" : scalar(component), count);
  }

  std::string_view space(Space space) const override {
    switch (space) {
      case Space::Thread:
        return "";
      case Space::Device:
      case Space::Constant:
        return "__global ";
      case Space::Threadgroup:
        return "__local ";
      case Space::Program:
        return "__constant ";
    }
    return "";
  }

  std::string forward(std::string_view structure, bool) const override {
    return base::format("typedef struct {0} {0};\n", structure);
  }

  std::string aliasing(std::string_view type, std::string_view alias) const override {
    return base::format("typedef {} {} __attribute__((may_alias));\n", type, alias);
  }

  std::string aligned(uint32_t align) const override { return base::format("__attribute__((aligned({}))) ", align); }

  // Not static. If all callers pass the address of one __local variable to a static function, PoCL 3.1 with LLVM 14
  // puts this address into the function, and ignores that every group has its own variable.
  std::string_view function_head(bool has_simd_memory) const override {
    return has_simd_memory ? "KYMO_TOGETHER " : "";
  }
  std::string kernel_head(uint32_t) const override { return "__kernel void "; }
  std::string_view group_head() const override { return "__local "; }
  std::string_view program_head() const override { return "__constant "; }

  std::string aggregate(std::string_view type, std::string_view parts) const override {
    return base::format("({}){{{}}}", type, parts);
  }

  std::string_view zeros() const override { return "0"; }
  // NVIDIA's extension. PoCL would compile for longer, for no gain.
  std::string unrolling(uint16_t wish) const override {
    return "#ifdef cl_nv_pragma_unroll\n" + unroll_pragma(wish) + "#endif\n";
  }

  bool needs_grid(Intrinsic intrinsic, bool) const override {
    return intrinsic == Intrinsic::GroupIndex || intrinsic == Intrinsic::GridSize ||
           intrinsic == Intrinsic::GroupCount || intrinsic == Intrinsic::FullGroupSize;
  }

  std::string float_of_bits(uint32_t bits) const override { return base::format("as_float({:#010x}u)", bits); }

  CText convert16(std::string_view function, bool, uint32_t count, CText operand) override {
    const std::string piece(function.substr(std::string_view("kymo_").size()));
    if (count == 1) {
      prelude.use(piece);
      return c_call(function, std::move(operand));
    }
    const std::string number = std::to_string(count);
    prelude.use(piece + "_vector", {number});
    return c_call(std::string(function) + number, std::move(operand));
  }

  CText bitcast(std::string_view type, CText bits) override {
    return c_call("as_" + std::string(type), std::move(bits));
  }

  CText unary(ir::Operator op, const Type*, CText operand) override {
    if (op == ir::Operator::Not) return c_binary(ir::Operator::Xor, std::move(operand), {"(uchar)1", Binding::Prefix});
    return c_prefix(operator_sign(op), std::move(operand));
  }

  CText binary(ir::Operator op, const Type* type, const Type* right_type, CText left, CText right) override {
    const bool is_shift = op == ir::Operator::ShiftLeft || op == ir::Operator::ShiftRight;
    if (is_shift && right_type != type) {
      if (right_type->is_vector())
        right = c_call("convert_" + vector_of(type), std::move(right));
      else
        right = c_cast(scalar(held_as(type->inner)), std::move(right));
    }
    CText text = c_binary(op, std::move(left), std::move(right));
    const bool compares = op >= ir::Operator::Equal && op <= ir::Operator::GreaterEqual;
    return compares ? as_bools(type->count, std::move(text)) : text;
  }

  CText convert(const Type* from, const Type* to, CText operand) override {
    if (!to->inner->is(TypeKind::Bool)) return c_call("convert_" + vector_of(to), std::move(operand));
    CText zero = c_cast(scalar(from->inner->is(TypeKind::Bool) ? TypeKind::UChar : held_as(from->inner)), {"0"});
    return as_bools(to->count, c_binary(ir::Operator::NotEqual, std::move(operand), std::move(zero)));
  }

  CText splat(const Type* type, CText component) override {
    return {base::format("({})({})", vector_of(type), component.text), Binding::Prefix};
  }

  CText construct(std::string_view type, std::string_view, bool, std::span<const CText> parts) override {
    return {base::format("({})({})", type, c_list(parts)), Binding::Prefix};
  }

  std::string initializer(std::string_view type, std::string_view components) const override {
    return base::format("({})({})", type, components);
  }

  CText component(const Type* type, CText vector, CText index) override {
    const std::string_view name = scalar(type->inner->is(TypeKind::Bool) ? TypeKind::UChar : held_as(type->inner));
    prelude.use(base::format("component{}", type->count), {name});
    return c_call(base::format("kymo_component_{}{}", name, type->count), std::move(vector), std::move(index));
  }

  CText swizzle(CText vector, std::span<const uint8_t> components) override {
    std::string names;
    for (const uint8_t component : components) names += component_name(component);
    return c_member(std::move(vector), names);
  }

  CText component_place(std::string_view scalar, std::string_view space, CText vector, CText index) override {
    return {base::format("(({}{}*){})[{}]", space, scalar, c_prefix("&", std::move(vector)).text, index.text)};
  }

  CText loose_load(uint32_t count, std::string_view scalar, std::string_view space, CText place) override {
    return {base::format("vload{}(0, (const {}{}*){})", count, space, scalar, c_prefix("&", std::move(place)).text)};
  }

  std::string loose_store(uint32_t count, std::string_view scalar, std::string_view space, CText place,
                          CText value) override {
    return base::format("vstore{}({}, 0, ({}{}*){})", count, value.text, space, scalar,
                        c_prefix("&", std::move(place)).text);
  }

  CText position(Intrinsic intrinsic, uint32_t component, const CHidden& hidden) override {
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

 private:
  CText function(const ir::Expression& expression, std::span<CText> operands) override {
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
      default:  // Fence
        return {base::format("mem_fence({})", opencl_fences(expression.index))};
    }
  }

  std::string vector_of(const Type* type) { return vector(held_as(type->inner), type->count); }

  // Converts -1 or 0 of any width to 1 or 0.
  CText as_bools(uint32_t count, CText minus_ones) {
    return c_call(base::format("convert_uchar{}", count), c_prefix("-", std::move(minus_ones)));
  }

  CText select(const ir::Expression& expression, std::span<CText> operands) {
    const Type* type = expression.type;
    const Type* chooser = expression.operands[2]->type;
    const std::string_view integer = opencl_signed_like(held_as(type->scalar()));
    CText which = std::move(operands[2]);
    if (chooser->is_vector())
      which = c_prefix("-", c_call(base::format("convert_{}{}", integer, chooser->count), std::move(which)));
    else if (type->is_vector())
      which = {base::format("({}{})(-({}){})", integer, type->count, integer, std::move(which).in(Binding::Prefix)),
               Binding::Prefix};
    else
      which = c_cast(integer, std::move(which));
    return c_call("select", std::move(operands[0]), std::move(operands[1]), std::move(which));
  }

  CText reverse_bits(const Type* type, CText operand) {
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

  CText atomic(const ir::Expression& expression, const std::string&, std::span<CText> operands) override {
    const Type* pointer = expression.operands[0]->type;
    const Type* value = pointer->inner->inner;
    const bool is_float = value->is(TypeKind::Float), is_64 = value->size == 8;
    constexpr std::string_view kNames[] = {"",    "xchg", "xchg", "cmpxchg", "add", "sub",
                                           "and", "or",   "xor",  "min",     "max"};
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
    return c_call_with(base::format("{}_{}", is_64 ? "atom" : "atomic", kNames[which]), operands);
  }

  CText collective(const ir::Expression& expression, std::span<CText> operands, const CHidden& hidden) override {
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
    const std::string_view word = reduction_name(intrinsic);
    if (is_scan(intrinsic)) {
      const std::string_view piece = is_inclusive(intrinsic) ? "simd_inclusive" : "simd_exclusive";
      const bool is_product = word == "product";
      const std::string_view start = is_product ? (is_float ? "1.0f" : "1") : (is_float ? "0.0f" : "0");
      prelude.use(piece, {word, name, bits, is_product ? "*" : "+", start});
      return c_call_with(base::format("kymo_{}_{}_{}", piece, word, name), arguments);
    }
    constexpr std::string_view kOfFloats[] = {"KYMO_SUM", "KYMO_PRODUCT", "fmin", "fmax"};
    constexpr std::string_view kOfIntegers[] = {"KYMO_SUM", "KYMO_PRODUCT", "min",     "max",
                                                "KYMO_AND", "KYMO_OR",      "KYMO_XOR"};
    const size_t which = static_cast<size_t>(intrinsic) - static_cast<size_t>(Intrinsic::SimdSum);
    prelude.use("simd_reduce",
                {word, name, bits, is_float ? kOfFloats[which] : kOfIntegers[which], opencl_neutral(intrinsic, type)});
    return c_call_with(base::format("kymo_simd_{}_{}", word, name), arguments);
  }

  CText whole_position(Intrinsic intrinsic, const CHidden& hidden) override {
    const std::string_view name = position_name(intrinsic);
    prelude.use(name);
    return {base::format("kymo_{}({})", name, needs_grid(intrinsic, true) ? hidden.grid : std::string_view())};
  }
};

}  // namespace

std::unique_ptr<CDialect> opencl_dialect() { return std::make_unique<OpenClDialect>(); }

Emitted emit_opencl(const ir::Module& module) { return emit_c(module, *opencl_dialect()); }

}  // namespace kymo::shader
