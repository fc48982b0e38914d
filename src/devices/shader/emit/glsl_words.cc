#include "shader/emit/glsl_words.h"

namespace kymo::shader::glsl {
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
