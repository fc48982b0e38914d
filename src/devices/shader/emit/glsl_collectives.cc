// Operations of several threads: simdgroups and atomics.

#include "base/text.h"
#include "shader/emit/glsl_writer.h"

namespace kymo::shader::glsl {
namespace {

using ir::Intrinsic;

struct Reduction {
  std::string_view name;
  std::string combined;
  std::string missing;  // changes nothing
};

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

Reduction glsl_reduction(Intrinsic intrinsic, TypeKind kind) {
  const bool is_float = kind == TypeKind::Float;
  const std::string neutral = glsl_neutral(intrinsic, kind);
  switch (intrinsic) {
    case Intrinsic::SimdSum:
      return {"sum", "a + b", neutral};
    case Intrinsic::SimdProduct:
      return {"product", "a * b", neutral};
    case Intrinsic::SimdMin:
      return {"min", is_float ? "kymo_fmin(a, b)" : "min(a, b)", neutral};
    case Intrinsic::SimdMax:
      return {"max", is_float ? "kymo_fmax(a, b)" : "max(a, b)", neutral};
    case Intrinsic::SimdAnd:
      return {"and", "a & b", neutral};
    case Intrinsic::SimdOr:
      return {"or", "a | b", neutral};
    default:
      return {"xor", "a ^ b", neutral};
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

std::string_view glsl_atomic_function(Intrinsic intrinsic) {
  switch (intrinsic) {
    case Intrinsic::AtomicExchange:
      return "atomicExchange";
    case Intrinsic::AtomicCompareExchange:
      return "atomicCompSwap";
    case Intrinsic::AtomicAdd:
    case Intrinsic::AtomicSubtract:
      return "atomicAdd";
    case Intrinsic::AtomicAnd:
      return "atomicAnd";
    case Intrinsic::AtomicOr:
      return "atomicOr";
    case Intrinsic::AtomicXor:
      return "atomicXor";
    case Intrinsic::AtomicMin:
      return "atomicMin";
    default:
      return "atomicMax";
  }
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
  if (which >= Intrinsic::SimdInclusiveSum) {
    const bool is_sum = which == Intrinsic::SimdInclusiveSum || which == Intrinsic::SimdExclusiveSum;
    const bool is_inclusive = which == Intrinsic::SimdInclusiveSum || which == Intrinsic::SimdInclusiveProduct;
    const std::string_view name = is_sum ? "sum" : "product";
    simd.use(is_inclusive ? "simd_inclusive" : "simd_exclusive",
             {name, type, is_sum ? "+" : "*", glsl_neutral(which, kind)});
    return {
        base::format("kymo_simd_{}_{}({}, {})", is_inclusive ? "inclusive" : "exclusive", name, given.text, active)};
  }
  if (kind == TypeKind::Float && which == Intrinsic::SimdMin) unit_.prelude.use("fmin");
  if (kind == TypeKind::Float && which == Intrinsic::SimdMax) unit_.prelude.use("fmax");
  const Reduction reduction = glsl_reduction(which, kind);
  simd.use("simd_reduce", {reduction.name, type, reduction.combined, reduction.missing});
  return {base::format("kymo_simd_{}({}, {})", reduction.name, given.text, active)};
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
  return from_bits(base::format("{}({})", glsl_atomic_function(which), arguments));
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
