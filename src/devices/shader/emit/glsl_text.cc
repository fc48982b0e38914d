#include "shader/emit/glsl_text.h"

#include <bit>
#include <cmath>
#include <limits>

#include "base/text.h"

namespace kymo::shader::glsl {
namespace {

Text glsl_float(float value) {
  if (std::isnan(value)) return {"(0.0 / 0.0)"};
  const bool negative = std::signbit(value);
  if (std::isinf(value)) return {negative ? "(-1.0 / 0.0)" : "(1.0 / 0.0)"};
  std::string text = base::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return {text, negative ? Level::Prefix : Level::Postfix};
}

Text glsl_signed(int64_t value, int64_t least, std::string_view suffix) {
  // The least has no literal: it would be the negation of one that is too large.
  if (value == least) return {base::format("({}{} - 1{})", value + 1, suffix, suffix)};
  return {base::format("{}{}", value, suffix), value < 0 ? Level::Prefix : Level::Postfix};
}

}  // namespace

std::string operand(const Text& text, Level level) { return Text(text).in(level); }

Text binary(const Text& left, std::string_view sign, const Text& right, Level level) {
  const Level tighter = static_cast<Level>(static_cast<uint8_t>(level) + 1);
  return {base::format("{} {} {}", operand(left, level), sign, operand(right, tighter)), level};
}

Text sum(const Text& left, const Text& right) {
  if (left.text == "0") return right;
  if (right.text == "0") return left;
  if (right.binding == Level::Prefix && right.text.starts_with('-'))
    return {base::format("{} - {}", operand(left, Level::Sum), std::string_view(right.text).substr(1)), Level::Sum};
  return binary(left, "+", right, Level::Sum);
}

Text product(const Text& left, uint64_t factor, bool wide) {
  if (factor == 1) return left;
  // Of a small number, at once.
  if (!wide && left.text.size() < 6 && left.text.find_first_not_of("0123456789") == std::string::npos)
    return {std::to_string(std::stoull(left.text) * factor)};
  return binary(left, "*", {wide ? number(factor) : std::to_string(factor)}, Level::Product);
}

Text literal(TypeKind kind, uint64_t bits) {
  switch (kind) {
    case TypeKind::Bool:
      return {bits != 0 ? "true" : "false"};
    case TypeKind::Char:
      return {base::format("int8_t({})", static_cast<int8_t>(bits))};
    case TypeKind::UChar:
      return {base::format("uint8_t({})", static_cast<uint8_t>(bits))};
    case TypeKind::Short:
      return {base::format("int16_t({})", static_cast<int16_t>(bits))};
    case TypeKind::UShort:
      return {base::format("uint16_t({})", static_cast<uint16_t>(bits))};
    case TypeKind::Int:
      return glsl_signed(static_cast<int32_t>(bits), std::numeric_limits<int32_t>::min(), "");
    case TypeKind::UInt:
      return {base::format("{}u", static_cast<uint32_t>(bits))};
    case TypeKind::Long:
      return glsl_signed(static_cast<int64_t>(bits), std::numeric_limits<int64_t>::min(), "l");
    case TypeKind::ULong:
      return {number(bits)};
    default:
      return glsl_float(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
}

std::string number(uint64_t value) { return base::format("{}ul", value); }

namespace {

// clang-format off
const Words& glsl_everywhere() {
  static const Words words = {
      // Keywords
      "active", "asm", "attribute", "bool", "break", "buffer", "bvec2", "bvec3", "bvec4", "case", "cast", "centroid",
      "class", "coherent", "common", "const", "continue", "default", "devicecoherent", "discard", "dmat2", "dmat2x2",
      "dmat2x3", "dmat2x4", "dmat3", "dmat3x2", "dmat3x3", "dmat3x4", "dmat4", "dmat4x2", "dmat4x3", "dmat4x4", "do",
      "double", "dvec2", "dvec3", "dvec4", "else", "enum", "extern", "external", "false", "filter", "fixed", "flat",
      "float", "for", "fvec2", "fvec3", "fvec4", "goto", "half", "highp", "hvec2", "hvec3", "hvec4", "if", "in", "inline",
      "inout", "input", "int", "interface", "invariant", "ivec2", "ivec3", "ivec4", "layout", "long", "lowp", "mat2",
      "mat2x2", "mat2x3", "mat2x4", "mat3", "mat3x2", "mat3x3", "mat3x4", "mat4", "mat4x2", "mat4x3", "mat4x4",
      "mediump", "namespace", "noinline", "nonprivate", "noperspective", "out", "output", "partition", "patch",
      "precise", "precision", "public", "queuefamilycoherent", "readonly", "resource", "restrict", "return", "sample",
      "sampler", "samplerShadow", "sampler1D", "sampler2D", "sampler3D", "samplerBuffer", "samplerCube", "shadercallcoherent", "shared", "short",
      "sizeof", "smooth", "static", "struct", "subgroupcoherent", "subroutine", "superp", "switch", "template",
      "texture1D", "texture2D", "texture3D", "textureBuffer", "textureCube", "this", "true", "typedef", "uimage1D", "uimage2D", "uimage3D", "image1D", "image2D", "image3D",
      "imageBuffer", "imageCube", "iimage1D", "iimage2D", "iimage3D", "uint", "uniform", "union", "unsigned", "using", "uvec2",
      "uvec3", "uvec4", "varying", "vec2", "vec3", "vec4", "void", "volatile", "while", "workgroupcoherent",
      "writeonly", "subpassInput", "atomic_uint",
      "int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t", "int64_t", "uint64_t", "float16_t",
      "float32_t", "float64_t", "i8vec2", "i8vec3", "i8vec4", "u8vec2", "u8vec3", "u8vec4", "i16vec2", "i16vec3",
      "i16vec4", "u16vec2", "u16vec3", "u16vec4", "i32vec2", "i32vec3", "i32vec4", "u32vec2", "u32vec3", "u32vec4",
      "i64vec2", "i64vec3", "i64vec4", "u64vec2", "u64vec3", "u64vec4", "f16vec2", "f16vec3", "f16vec4", "f32vec2",
      "f32vec3", "f32vec4", "f64vec2", "f64vec3", "f64vec4", "accelerationStructureEXT", "rayQueryEXT", "rayPayloadEXT",
      // Not keywords, but a kernel with such a name, which is a macro, would break them
      "align", "binding", "buffer_reference", "buffer_reference_align", "constant_id", "local_size_x_id",
      "local_size_y_id", "local_size_z_id", "push_constant", "require", "scalar", "set", "words", "v",
      // The preprocessor's
      "defined", "GL_EXT_buffer_reference", "GL_core_profile", "VULKAN",
      // Functions that generated text calls: where a variable has such a name, they cannot be called
      "abs", "acos", "acosh", "all", "any", "asin", "asinh", "atan", "atanh", "atomicAdd", "atomicAnd",
      "atomicCompSwap", "atomicExchange", "atomicLoad", "atomicMax", "atomicMin", "atomicOr", "atomicStore",
      "atomicXor", "barrier", "bitCount", "bitfieldInsert", "bitfieldReverse", "ceil", "cos", "cosh", "equal", "exp",
      "exp2", "findMSB", "floatBitsToInt", "floatBitsToUint", "floor", "greaterThan", "greaterThanEqual",
      "imulExtended", "intBitsToFloat", "lessThan", "lessThanEqual", "log", "log2", "main", "max", "memoryBarrier",
      "memoryBarrierBuffer", "memoryBarrierShared", "min", "mix", "not", "notEqual", "pow", "roundEven", "sin", "sinh",
      "sqrt", "tan", "tanh", "trunc", "uintBitsToFloat", "umulExtended",
      // Of the generated text and the prelude
      "arguments", "kymo_grid", "kymo_null", "kymo_wide", "kymo_widened", "kymo_is_nan", "kymo_is_inf", "kymo_from_half",
      "kymo_to_half", "kymo_round_to_half", "kymo_from_bfloat", "kymo_to_bfloat", "kymo_round_to_bfloat", "kymo_fmin",
      "kymo_fmax", "kymo_copysign", "kymo_rsqrt", "kymo_exp10", "kymo_log10", "kymo_fmod", "kymo_msb", "kymo_fma",
      "kymo_remainder", "kymo_pop_count", "kymo_leading_zeros", "kymo_reverse_bits",
      "kymo_mul_hi", "kymo_simd", "kymo_simd_first", "kymo_simd_threads", "kymo_simd_put", "kymo_simd_active",
      "kymo_bits", "kymo_int_of", "kymo_uint_of", "kymo_float_of", "kymo_int64_t_of", "kymo_uint64_t_of",
      "kymo_simd_sum", "kymo_simd_product", "kymo_simd_min", "kymo_simd_max", "kymo_simd_and", "kymo_simd_or",
      "kymo_simd_xor", "kymo_simd_inclusive_sum", "kymo_simd_inclusive_product", "kymo_simd_exclusive_sum",
      "kymo_simd_exclusive_product", "kymo_simd_shuffle", "kymo_simd_ballot", "kymo_any", "kymo_group_any",
      "length",  // of a field too: x.length would be a method
  };
  return words;
}

// The other built-in functions: a function of that name would be one more of them, and calls might mean either.
const Words& glsl_outermost() {
  static const Words words = {
      "anyInvocation", "allInvocations", "bitfieldExtract", "clamp", "cross", "degrees", "determinant", "distance",
      "dot", "faceforward", "findLSB", "fma", "fract", "frexp", "groupMemoryBarrier", "inverse", "inversesqrt", "isinf",
      "isnan", "ldexp", "max3", "mid3", "min3", "matrixCompMult", "memoryBarrierAtomicCounter", "memoryBarrierImage", "mod", "modf",
      "normalize", "outerProduct", "pack16", "pack32", "pack64", "packHalf2x16", "packInt2x32", "packSnorm2x16",
      "packSnorm4x8", "packUint2x32", "packUnorm2x16", "packUnorm4x8", "radians", "reflect", "refract", "round", "sign",
      "smoothstep", "step", "transpose", "uaddCarry", "unpack16", "unpack32", "unpack8", "unpackHalf2x16",
      "unpackInt2x32", "unpackSnorm2x16", "unpackSnorm4x8", "unpackUint2x32", "unpackUnorm2x16", "unpackUnorm4x8",
      "usubBorrow", "noise1", "noise2", "noise3", "noise4", "texture", "fwidth", "interpolateAtCentroid",
      "helperInvocationEXT", "subgroupBarrier", "subgroupAll", "subgroupAny", "subgroupElect",
  };
  return words;
}
// clang-format on

}  // namespace

Reserved reserved_words() { return {glsl_everywhere(), glsl_outermost()}; }

}  // namespace kymo::shader::glsl
