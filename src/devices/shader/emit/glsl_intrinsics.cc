// Intrinsics: numbers, positions, barriers, simdgroups, atomics.

#include "base/text.h"
#include "shader/emit/glsl_writer.h"

namespace kymo::shader::glsl {
namespace {

using ir::Intrinsic;

// By the order of the enumeration, from Abs to All: of floats and of vectors of them. Those with a prefix are pieces of
// the prelude. Empty: not simply a function.
constexpr std::string_view kGlslPrefix = "kymo_";
constexpr std::string_view kGlslFunctions[] = {
    "abs",        "floor", "ceil", "trunc",         "roundEven", "sqrt",        "kymo_rsqrt",  "exp",       "exp2",
    "kymo_exp10", "log",   "log2", "kymo_log10",    "sin",       "cos",         "tan",         "asin",      "acos",
    "atan",       "sinh",  "cosh", "tanh",          "asinh",     "acosh",       "atanh",       "kymo_fmin", "kymo_fmax",
    "kymo_fmod",  "pow",   "atan", "kymo_copysign", "kymo_fma",  "kymo_is_nan", "kymo_is_inf", "min",       "max",
    "",           "",      "",     "kymo_mul_hi",   "any",       "all"};

}  // namespace

Text Writer::intrinsic(const ir::Expression& expression) {
  switch (expression.intrinsic) {
    case Intrinsic::PopCount:
    case Intrinsic::CountLeadingZeros:
    case Intrinsic::ReverseBits:
      return integer_math(expression);
    case Intrinsic::Select:
      return select(expression);
    case Intrinsic::GroupBarrier:
    case Intrinsic::SimdBarrier:
    case Intrinsic::Fence:
      return barrier(expression);
    default:
      break;
  }
  if (expression.intrinsic >= Intrinsic::AtomicLoad && expression.intrinsic <= Intrinsic::AtomicMax)
    return atomic(expression);
  if (expression.intrinsic >= Intrinsic::SimdSum && expression.intrinsic <= Intrinsic::GroupAny)
    return simdgroup(expression);
  if (expression.intrinsic >= Intrinsic::GridPosition) return position(expression);
  return math(expression);
}

Text Writer::math(const ir::Expression& expression) {
  std::vector<Text> arguments;
  std::vector<const Type*> types;
  std::string given;
  for (const ir::Expression* part : expression.operands) {
    arguments.push_back(value(*part));
    types.push_back(part->type);
    (given += given.empty() ? "" : ", ") += arguments.back().text;
  }
  const std::string_view name = kGlslFunctions[static_cast<size_t>(expression.intrinsic)];
  if (!name.starts_with(kGlslPrefix)) return {base::format("{}({})", name, given)};
  unit_.prelude.use(name.substr(kGlslPrefix.size()));
  return componentwise(name, expression.type, arguments, types);
}

// Computed with 32 bits, or with two times 32 bits; smaller integers are zero-extended.
Text Writer::integer_math(const ir::Expression& expression) {
  const Type* type = expression.operands[0]->type;
  const uint64_t bits = type->scalar()->size * 8;
  const Text given = value(*expression.operands[0]);
  const std::string& name = unit_.types.name(expression.type);
  if (bits == 64) {
    const std::string_view piece = expression.intrinsic == Intrinsic::PopCount            ? "pop_count"
                                   : expression.intrinsic == Intrinsic::CountLeadingZeros ? "leading_zeros"
                                                                                          : "reverse_bits";
    unit_.prelude.use(piece);
    const std::string function = base::format("kymo_{}", piece);
    if (!type->is_vector()) return {base::format("{}({}(uint64_t({})))", name, function, given.text)};
    const std::string wide = unit_.types.vector_name(TypeKind::ULong, type->count);
    if (unit_.is_new(base::format("each {} {}", function, wide))) {
      std::string parts;
      for (uint32_t i = 0; i < type->count; ++i)
        parts += base::format("{}{}(x.{})", i == 0 ? "" : ", ", function, kComponents[i]);
      unit_.add_function(base::format("{} {}({} x) {{\n  return {}({});\n}}\n", wide, function, wide, wide, parts),
                         nullptr);
    }
    return {base::format("{}({}({}({})))", name, function, wide, given.text)};
  }
  const std::string word = unit_.types.vector_name(TypeKind::UInt, type->components());
  std::string plain = base::format("{}({})", word, given.text);
  if (bits < 32) plain += base::format(" & {}u", (1U << bits) - 1);
  switch (expression.intrinsic) {
    case Intrinsic::PopCount:
      return {base::format("{}(bitCount({}))", name, plain)};
    case Intrinsic::CountLeadingZeros:
      return {base::format("{}({} - findMSB({}))", name, bits - 1, plain)};
    default:
      if (bits == 32) return {base::format("{}(bitfieldReverse({}))", name, plain)};
      return {base::format("{}(bitfieldReverse({}) >> {})", name, plain, 32 - bits)};
  }
}

Text Writer::select(const ir::Expression& expression) {
  const ir::Expression& chosen = *expression.operands[2];
  const Text no = value(*expression.operands[0]), yes = value(*expression.operands[1]), which = value(chosen);
  if (chosen.type->is_vector()) return {base::format("mix({}, {}, {})", no.text, yes.text, which.text)};
  return {base::format("{} ? {} : {}", operand(which, Level::LogicalOr), operand(yes, Level::LogicalOr),
                       operand(no, Level::Conditional)),
          Level::Conditional};
}

Text Writer::position(const ir::Expression& expression) {
  switch (expression.intrinsic) {
    case Intrinsic::GridPosition:
      return {"gl_GlobalInvocationID"};
    case Intrinsic::GroupPosition:
      return {"gl_LocalInvocationID"};
    case Intrinsic::GroupIndex:
      return {"gl_WorkGroupID"};
    case Intrinsic::GroupSize:
      return {"gl_WorkGroupSize"};
    case Intrinsic::GroupCount:
      return {"gl_NumWorkGroups"};
    case Intrinsic::SimdLane:
      return {"gl_LocalInvocationIndex & 31u", Level::And};
    case Intrinsic::SimdIndex:
      return {"gl_LocalInvocationIndex >> 5", Level::Shift};
    default:
      break;
  }
  const uint32_t first = expression.intrinsic == Intrinsic::GridSize ? 0 : 3;
  return {base::format("uvec3(arguments.kymo_grid[{}], arguments.kymo_grid[{}], arguments.kymo_grid[{}])", first,
                       first + 1, first + 2)};
}

Text Writer::barrier(const ir::Expression& expression) {
  const bool is_device = (expression.index & 1) != 0, is_shared = (expression.index & 2) != 0;
  if (is_device) unit_.share_buffers();
  if (expression.intrinsic == Intrinsic::Fence)
    return {is_device && is_shared ? "memoryBarrier()" : is_shared ? "memoryBarrierShared()" : "memoryBarrierBuffer()"};
  // barrier() orders shared memory by itself.
  return {is_device ? "memoryBarrierBuffer(); barrier()" : "barrier()"};
}

// ---- Operations of several threads: simdgroups and atomics ----------------------------------------------------------

namespace {

// The neutral element of the operation.
std::string glsl_neutral(Intrinsic intrinsic, TypeKind kind) {
  const bool is_float = kind == TypeKind::Float, is_signed = kind == TypeKind::Int || kind == TypeKind::Long;
  const bool is_wide = kind == TypeKind::Long || kind == TypeKind::ULong;
  const uint64_t highest = is_wide ? ~uint64_t{0} : 0xffffffff;
  const uint64_t max = is_signed ? highest >> 1 : highest;
  switch (intrinsic) {
    case Intrinsic::SimdProduct:
    case Intrinsic::SimdInclusiveProduct:
    case Intrinsic::SimdExclusiveProduct:
      return is_float ? "1.0" : literal(kind, 1).text;
    case Intrinsic::SimdMin:
      return is_float ? "uintBitsToFloat(0x7fc00000u)" : literal(kind, max).text;
    case Intrinsic::SimdMax:
      return is_float ? "uintBitsToFloat(0x7fc00000u)" : literal(kind, is_signed ? ~max : 0).text;
    case Intrinsic::SimdAnd:
      return literal(kind, highest).text;
    case Intrinsic::SimdSum:
    case Intrinsic::SimdInclusiveSum:
      return is_float ? "-0.0" : literal(kind, 0).text;
    default:
      return literal(kind, 0).text;
  }
}

bool glsl_is_kept_as_bits(const Type* atomic_type) {
  return atomic_type->inner->is(TypeKind::Float) || atomic_type->inner->is(TypeKind::Bool);
}

// What an array of uint cannot do.
void glsl_refuse_in_words(const Unit& unit, const Type* atomic_type, Intrinsic intrinsic) {
  const bool compares = intrinsic == Intrinsic::AtomicMin || intrinsic == Intrinsic::AtomicMax;
  if (atomic_type->size == 8 || (compares && atomic_type->inner->is(TypeKind::Int)))
    unit.refuse(
        base::format("{} in threadgroup memory that is converted to other types is not supported on Vulkan: "
                     "declare memory of its own for it",
                     compares ? "min or max of " + TypeTable::name(atomic_type) : TypeTable::name(atomic_type)));
}

}  // namespace

Text Writer::simdgroup(const ir::Expression& expression) {
  CPrelude& simd = unit_.simdgroups(instance_.kernels);
  const ir::Intrinsic which = expression.intrinsic;
  const ir::Expression& first = *expression.operands[0];
  const Text given = value(first);
  if (which == Intrinsic::GroupAny) {
    simd.use("group_any");
    return {base::format("kymo_group_any({})", given.text)};
  }
  const size_t own_operands = which == Intrinsic::SimdShuffle ? 2 : 1;
  const std::string active =
      expression.operands.size() > own_operands ? value(*expression.operands[own_operands]).text : "true";
  if (which == Intrinsic::SimdBallot) {
    simd.use("simd_ballot");
    return {base::format("kymo_simd_ballot({}, {})", given.text, active)};
  }
  const TypeKind kind = first.type->kind;
  const std::string& type = unit_.types.name(first.type);
  if (which == Intrinsic::SimdShuffle) {
    simd.use("simd_shuffle", {type});
    return {base::format("kymo_simd_shuffle({}, {}, {})", given.text, value(*expression.operands[1]).text, active)};
  }
  const std::string_view name = reduction_name(which);
  if (is_scan(which)) {
    const std::string_view piece = is_inclusive(which) ? "simd_inclusive" : "simd_exclusive";
    simd.use(piece, {name, type, name == "sum" ? "+" : "*", glsl_neutral(which, kind)});
    return {base::format("kymo_{}_{}({}, {})", piece, name, given.text, active)};
  }
  constexpr std::string_view kCombined[] = {"a + b", "a * b", "min(a, b)", "max(a, b)", "a & b", "a | b", "a ^ b"};
  const size_t number = static_cast<size_t>(which) - static_cast<size_t>(Intrinsic::SimdSum);
  std::string combined(kCombined[number]);
  if (kind == TypeKind::Float && (which == Intrinsic::SimdMin || which == Intrinsic::SimdMax)) {
    unit_.prelude.use(base::format("f{}", name));
    combined = "kymo_f" + combined;
  }
  simd.use("simd_reduce", {name, type, combined, glsl_neutral(which, kind)});
  return {base::format("kymo_simd_{}({}, {})", name, given.text, active)};
}

Text Writer::atomic(const ir::Expression& expression) {
  const ir::Expression& to = *expression.operands[0];
  const Type* type = to.type->inner;
  if (!type->is(TypeKind::Atomic)) unit_.refuse(base::format("{} is not atomic", TypeTable::name(type)));
  const bool is_float = type->inner->is(TypeKind::Float);
  const ir::Intrinsic which = expression.intrinsic;
  if (is_float && which >= Intrinsic::AtomicAdd) return atomic_loop(expression);
  if (type->size == 8) unit_.need(Extension::WideAtomics);

  std::string place_text;
  bool is_word = false;
  const bool is_buffer = !is_static_pointer(to.type);
  if (is_buffer) {
    place_text = memory_.direct(type, value(to));
  } else {
    const Pointer known = pointer(to);
    if (known.shape.root == nullptr) return memory_.zero(expression.type);
    place_text = target(known).text;
    is_word = known.shape.root->is_words;
    if (is_word) glsl_refuse_in_words(unit_, type, which);
  }
  const bool is_int_in_word = is_word && type->inner->is(TypeKind::Int);
  const auto as_bits = [&](const ir::Expression& given) {
    const Text text = value(given);
    if (is_float) return base::format("floatBitsToUint({})", text.text);
    return glsl_is_kept_as_bits(type) || is_int_in_word ? base::format("uint({})", text.text) : text.text;
  };
  const auto from_bits = [&](std::string bits) -> Text {
    if (is_float) return {base::format("uintBitsToFloat({})", bits)};
    if (is_int_in_word) return {base::format("int({})", bits)};
    return {glsl_is_kept_as_bits(type) ? base::format("bool({})", bits) : std::move(bits)};
  };
  const std::string_view scope = is_buffer ? "gl_ScopeDevice, gl_StorageSemanticsBuffer, gl_SemanticsRelaxed"
                                           : "gl_ScopeWorkgroup, gl_StorageSemanticsShared, gl_SemanticsRelaxed";
  if (which == Intrinsic::AtomicLoad || which == Intrinsic::AtomicStore) unit_.need(Extension::Scopes);
  if (which == Intrinsic::AtomicLoad) return from_bits(base::format("atomicLoad({}, {})", place_text, scope));
  if (which == Intrinsic::AtomicStore)
    return {base::format("atomicStore({}, {}, {})", place_text, as_bits(*expression.operands[1]), scope)};
  std::string arguments = place_text;
  for (size_t i = 1; i < expression.operands.size(); ++i) {
    std::string given = as_bits(*expression.operands[i]);
    if (which == Intrinsic::AtomicSubtract) given = base::format("-({})", given);
    arguments += ", " + given;
  }
  constexpr std::string_view kFunctions[] = {"atomicExchange", "atomicCompSwap", "atomicAdd", "atomicAdd", "atomicAnd",
                                             "atomicOr",       "atomicXor",      "atomicMin", "atomicMax"};
  const size_t number = static_cast<size_t>(which) - static_cast<size_t>(Intrinsic::AtomicExchange);
  return from_bits(base::format("{}({})", kFunctions[number], arguments));
}

Text Writer::float_combined(ir::Intrinsic which, const Text& left, const Text& right) {
  switch (which) {
    case Intrinsic::AtomicAdd:
      return glsl::binary(left, "+", right, Level::Sum);
    case Intrinsic::AtomicSubtract:
      return glsl::binary(left, "-", right, Level::Sum);
    default: {
      const std::string_view piece = which == Intrinsic::AtomicMin ? "fmin" : "fmax";
      unit_.prelude.use(piece);
      return {base::format("kymo_{}({}, {})", piece, left.text, right.text)};
    }
  }
}

// An atomic operation on a float is a loop of compare and exchange. It is a separate function, which takes the dynamic
// part of the pointer.
Text Writer::atomic_loop(const ir::Expression& expression) {
  const ir::Expression& to = *expression.operands[0];
  const Type* type = to.type->inner;
  const ir::Intrinsic which = expression.intrinsic;
  const std::string_view verb = which == Intrinsic::AtomicAdd        ? "add"
                                : which == Intrinsic::AtomicSubtract ? "subtract"
                                : which == Intrinsic::AtomicMin      ? "min"
                                                                     : "max";
  std::string parameters, arguments, place_text, key = base::format("atomic {}", verb);
  if (is_static_pointer(to.type)) {
    Pointer known = pointer(to);
    if (known.shape.root == nullptr) return {"0.0"};
    for (size_t i = 0; i < known.ints.size(); ++i) {
      const std::string name = base::format("i{}", i);
      parameters += base::format("int {}, ", name);
      arguments += known.ints[i].text + ", ";
      known.ints[i] = {name};
    }
    place_text = target(known).text;
    key += base::format(" {} {}", place_text, instance_.name);
  } else {
    parameters = "uint64_t at, ";
    arguments = value(to).text + ", ";
    place_text = memory_.direct(type, {"at"});
  }
  const auto make = [&](const std::string& name) {
    const Text next = float_combined(which, {"uintBitsToFloat(seen)"}, {"value"});
    return base::format(
        "float {}({}float value) {{\n"
        "  uint seen = {}, found;\n"
        "  for (; {}; seen = found) {{\n"
        "    float next = {};\n"
        "    found = atomicCompSwap({}, seen, floatBitsToUint(next));\n"
        "    if (found == seen) break;\n"
        "  }}\n"
        "  return uintBitsToFloat(seen);\n"
        "}}\n",
        name, parameters, place_text, unit_.goes_on(), next.text, place_text);
  };
  const bool is_buffer = !is_static_pointer(to.type);
  const std::string& function =
      unit_.helper(key, base::format("atomic_{}", verb), make, is_buffer ? nullptr : &instance_.kernels);
  return {base::format("{}({}{})", function, arguments, value(*expression.operands[1]).text)};
}

}  // namespace kymo::shader::glsl
