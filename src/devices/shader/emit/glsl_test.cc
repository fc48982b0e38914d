// Golden texts: what is written for small modules, word by word.
#include <gtest/gtest.h>

#include "shader/emit/test_glsl_samples.h"

namespace kymo::shader::glsl_tests {
namespace {

TEST(GlslTest, AKernelTakesItsArgumentsAsPushConstants) {
  EXPECT_EQ(glsl_text_of(sample_saxpy, "#version"), R"(#version 450
// For SPIR-V in which every operation on floats is NoContraction.
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#pragma kernel saxpy
layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;

layout(buffer_reference, scalar, buffer_reference_align = 4) buffer float_at { float v; };

uint64_t kymo_wide(uint low, uint high) { return uint64_t(high) << 32 | uint64_t(low); }

layout(push_constant, scalar) uniform saxpy_arguments {
  uint64_t x;
  uint64_t y;
  uint a_in[4];
} arguments;

void saxpy() {
  uint64_t x = arguments.x;
  uint64_t y = arguments.y;
  uint64_t a_at = kymo_wide(arguments.a_in[0], arguments.a_in[1]);
  float a = a_at != 0ul ? float_at(a_at).v : uintBitsToFloat(arguments.a_in[2]);
  uint i = gl_GlobalInvocationID.x;
  float_at(y + uint64_t(i) * 4ul).v = a * float_at(x + uint64_t(i) * 4ul).v + float_at(y + uint64_t(i) * 4ul).v;
}
)");
}

TEST(GlslTest, AlignedVectorsAreReadAtOnce) {
  EXPECT_EQ(glsl_text_of(sample_vectors, kGlslArguments), R"(layout(push_constant, scalar) uniform vectors_arguments {
  uint64_t a;
  uint64_t b;
  uint64_t p;
  uint64_t c;
} arguments;

vec3 load_packed_float3(uint64_t at) {
  return vec3(float_at(at).v, float_at(at + 4ul).v, float_at(at + 8ul).v);
}
void store_float3(uint64_t at, vec3 value) {
  float_at(at).v = value.x;
  float_at(at + 4ul).v = value.y;
  float_at(at + 8ul).v = value.z;
}
void store_packed_float3(uint64_t at, vec3 value) {
  float_at(at).v = value.x;
  float_at(at + 4ul).v = value.y;
  float_at(at + 8ul).v = value.z;
}
void vectors() {
  uint64_t a = arguments.a;
  uint64_t b = arguments.b;
  uint64_t p = arguments.p;
  uint64_t c = arguments.c;
  uint i = gl_GlobalInvocationID.x;
  vec4 t = vec4_at(a + uint64_t(i) * 16ul).v + vec4(load_packed_float3(p + uint64_t(i) * 12ul), 1.0);
  t.wx = t.xy;
  vec2 t_1 = t.xw;
  float_at(a + uint64_t(i) * 16ul + 8ul).v = t_1.x;
  float_at(a + uint64_t(i) * 16ul + 4ul).v = t_1.y;
  float_at(a + uint64_t(i) * 16ul + 12ul).v = t[kymo_remainder(int(i), 4)];
  store_float3(b + uint64_t(i) * 16ul, t.xxy);
  store_packed_float3(p + uint64_t(i) * 12ul, t.yzw * vec3(2.0));
  i8vec4_at(c + uint64_t(i) * 4ul).v = kymo_remainder(i8vec4_at(c + uint64_t(i) * 4ul).v + i8vec4(int8_t(100)), i8vec4(int8_t(7)));
}
)");
}

TEST(GlslTest, ValuesArePushConstants) {
  EXPECT_EQ(glsl_text_of(sample_values, kGlslArguments),
            R"(layout(push_constant, scalar) uniform values_arguments {
  uint64_t out_;
  uint setting_in[6];
  uint ids_in[8];
} arguments;

vec2 load_half2(uint64_t at) {
  u16vec2 bits = u16vec2_at(at).v;
  return vec2(kymo_from_half(bits.x), kymo_from_half(bits.y));
}
Setting load_Setting(uint64_t at) {
  return Setting(float_at(at).v, load_half2(at + 4ul), bool(uint8_t_at(at + 8ul).v));
}
void values() {
  uint64_t out_ = arguments.out_;
  uint64_t setting_at = kymo_wide(arguments.setting_in[0], arguments.setting_in[1]);
  Setting setting = setting_at != 0ul ? load_Setting(setting_at) : Setting(uintBitsToFloat(arguments.setting_in[2]), vec2(kymo_from_half(uint16_t(arguments.setting_in[3])), kymo_from_half(uint16_t(arguments.setting_in[3] >> 16))), (arguments.setting_in[4] & 255u) != 0u);
  uint64_t ids_at = kymo_wide(arguments.ids_in[0], arguments.ids_in[1]);
  i64vec2 ids = ids_at != 0ul ? i64vec2_at(ids_at).v : i64vec2(int64_t(kymo_wide(arguments.ids_in[4], arguments.ids_in[5])), int64_t(kymo_wide(arguments.ids_in[6], arguments.ids_in[7])));
  if (setting.on) {
    float_at(out_ + uint64_t(gl_GlobalInvocationID.x) * 4ul).v = setting.offset.y + float(ids.y);
  }
}
)");
}

TEST(GlslTest, ArgumentsThatAreTooLargeForPushConstantsAreReadByAddress) {
  EXPECT_EQ(glsl_text_of(sample_arguments, "layout(buffer_reference, scalar, buffer_reference_align = 8) readonly"),
            R"(layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer take_arguments_arguments {
  uint64_t out_;
  layout(offset = 8) uint64_t many_in[65];
  layout(offset = 528) uint64_t setting_in[3];
  layout(offset = 560) uint64_t ids_in[4];
};
layout(push_constant, scalar) uniform take_arguments_block { take_arguments_arguments arguments; };

void take_arguments() {
  uint64_t out_ = arguments.out_;
  uint64_t many_at = arguments.many_in[0] != 0ul ? arguments.many_in[0] : uint64_t(arguments) + 16ul;
  uint64_t setting_at = arguments.setting_in[0] != 0ul ? arguments.setting_in[0] : uint64_t(arguments) + 536ul;
  uint64_t ids_at = arguments.ids_in[0] != 0ul ? arguments.ids_in[0] : uint64_t(arguments) + 576ul;
  i64vec2 ids = i64vec2_at(ids_at).v;
  uint i = gl_GlobalInvocationID.x;
  float sum = kymo_from_half(uint16_t_at(setting_at + 6ul).v);
  int k = 0;
  for (; k < 64; ++k) {
    if (uint64_t_at(many_at + uint64_t(k) * 8ul).v != 0ul) {
      sum += float_at(uint64_t_at(many_at + uint64_t(k) * 8ul).v + uint64_t(i) * 4ul).v;
    }
  }
  if (bool(uint8_t_at(setting_at + 8ul).v)) {
    sum *= float_at(setting_at).v;
  }
  float_at(out_ + uint64_t(i) * 4ul).v = sum + float(ids.y);
}
)");
}

TEST(GlslTest, CodeOfOneKernelIsGuarded) {
  EXPECT_EQ(glsl_text_of(sample_two_kernels, "#if defined(one)"), R"(#if defined(one)
layout(push_constant, scalar) uniform one_arguments {
  uint64_t out_;
} arguments;
#endif
#if defined(x_kernel)
layout(push_constant, scalar) uniform x_kernel_arguments {
  uint64_t out_;
} arguments;
#endif

float square(float x_1) {
  return x_1 * x_1;
}
#if defined(one)
void one() {
  uint64_t out_ = arguments.out_;
  uint i = gl_GlobalInvocationID.x;
  float_at(out_ + uint64_t(i) * 4ul).v = square(float_at(out_ + uint64_t(i) * 4ul).v);
}
#endif
#if defined(x_kernel)
float twice(float x_2) {
  return square(x_2 + x_2);
}
void x_kernel() {
  uint64_t out_ = arguments.out_;
  uint i = gl_GlobalInvocationID.x;
  float_at(out_ + uint64_t(i) * 4ul).v = twice(kymo_simd_sum(float_at(out_ + uint64_t(i) * 4ul).v, true));
}
#endif
)");
}

TEST(GlslTest, PositionsAreBuiltIn) {
  EXPECT_EQ(glsl_text_of(sample_positions, kGlslArguments),
            R"(layout(push_constant, scalar) uniform positions_arguments {
  uint64_t out_;
  uint kymo_grid[6];
} arguments;

void positions() {
  uint64_t out_ = arguments.out_;
  uint at = (gl_GlobalInvocationID.x + uvec3(arguments.kymo_grid[0], arguments.kymo_grid[1], arguments.kymo_grid[2]).x * (gl_GlobalInvocationID.y + uvec3(arguments.kymo_grid[0], arguments.kymo_grid[1], arguments.kymo_grid[2]).y * gl_GlobalInvocationID.z)) * 21u;
  uint_at(out_ + uint64_t(at + 0u) * 4ul).v = gl_GlobalInvocationID.x;
  uint_at(out_ + uint64_t(at + 1u) * 4ul).v = gl_GlobalInvocationID.y;
  uint_at(out_ + uint64_t(at + 2u) * 4ul).v = gl_GlobalInvocationID.z;
  uint_at(out_ + uint64_t(at + 3u) * 4ul).v = gl_LocalInvocationID.x;
  uint_at(out_ + uint64_t(at + 4u) * 4ul).v = gl_LocalInvocationID.y;
  uint_at(out_ + uint64_t(at + 5u) * 4ul).v = gl_LocalInvocationID.z;
  uint_at(out_ + uint64_t(at + 6u) * 4ul).v = gl_WorkGroupID.x;
  uint_at(out_ + uint64_t(at + 7u) * 4ul).v = gl_WorkGroupID.y;
  uint_at(out_ + uint64_t(at + 8u) * 4ul).v = gl_WorkGroupID.z;
  uint_at(out_ + uint64_t(at + 9u) * 4ul).v = uvec3(arguments.kymo_grid[0], arguments.kymo_grid[1], arguments.kymo_grid[2]).x;
  uint_at(out_ + uint64_t(at + 10u) * 4ul).v = uvec3(arguments.kymo_grid[0], arguments.kymo_grid[1], arguments.kymo_grid[2]).y;
  uint_at(out_ + uint64_t(at + 11u) * 4ul).v = uvec3(arguments.kymo_grid[0], arguments.kymo_grid[1], arguments.kymo_grid[2]).z;
  uint_at(out_ + uint64_t(at + 12u) * 4ul).v = gl_WorkGroupSize.x;
  uint_at(out_ + uint64_t(at + 13u) * 4ul).v = gl_WorkGroupSize.y;
  uint_at(out_ + uint64_t(at + 14u) * 4ul).v = gl_WorkGroupSize.z;
  uint_at(out_ + uint64_t(at + 15u) * 4ul).v = gl_NumWorkGroups.x;
  uint_at(out_ + uint64_t(at + 16u) * 4ul).v = gl_NumWorkGroups.y;
  uint_at(out_ + uint64_t(at + 17u) * 4ul).v = gl_NumWorkGroups.z;
  uint_at(out_ + uint64_t(at + 18u) * 4ul).v = uvec3(arguments.kymo_grid[3], arguments.kymo_grid[4], arguments.kymo_grid[5]).x;
  uint_at(out_ + uint64_t(at + 19u) * 4ul).v = uvec3(arguments.kymo_grid[3], arguments.kymo_grid[4], arguments.kymo_grid[5]).y;
  uint_at(out_ + uint64_t(at + 20u) * 4ul).v = uvec3(arguments.kymo_grid[3], arguments.kymo_grid[4], arguments.kymo_grid[5]).z;
}
)");
}

TEST(GlslTest, FloatAtomicsAreCompareExchangeLoops) {
  EXPECT_EQ(glsl_text_of(sample_atomics, kGlslArguments), R"(layout(push_constant, scalar) uniform atomics_arguments {
  uint64_t counts;
  uint64_t lows;
  uint64_t reals;
} arguments;

float atomic_add(uint64_t at, float value) {
  uint seen = uint_at(at).v, found;
  for (; kymo_goes_on(0u); seen = found) {
    float next = uintBitsToFloat(seen) + value;
    found = atomicCompSwap(uint_at(at).v, seen, floatBitsToUint(next));
    if (found == seen) break;
  }
  return uintBitsToFloat(seen);
}
float atomic_max(uint64_t at, float value) {
  uint seen = uint_at(at).v, found;
  for (; kymo_goes_on(1u); seen = found) {
    float next = kymo_fmax(uintBitsToFloat(seen), value);
    found = atomicCompSwap(uint_at(at).v, seen, floatBitsToUint(next));
    if (found == seen) break;
  }
  return uintBitsToFloat(seen);
}
void atomics() {
  uint64_t counts = arguments.counts;
  uint64_t lows = arguments.lows;
  uint64_t reals = arguments.reals;
  uint i = gl_GlobalInvocationID.x;
  atomicAdd(uint_at(counts).v, i);
  atomicAdd(uint_at(counts + 4ul).v, -(2u));
  atomicOr(uint_at(counts + 8ul).v, 1u << i % 32u);
  atomicMax(uint_at(counts + 12ul).v, i);
  atomicMin(int_at(lows).v, 0 - int(i));
  atomicCompSwap(uint_at(counts + 16ul).v, 0u, i + 1u);
  atomic_add(reals, float(i) * 0.5);
  atomic_max(reals + 4ul, float(i));
  atomicStore(uint_at(reals + 8ul).v, floatBitsToUint(uintBitsToFloat(atomicExchange(uint_at(reals + 12ul).v, floatBitsToUint(4.0))) + 1.0), gl_ScopeDevice, gl_StorageSemanticsBuffer, gl_SemanticsRelaxed);
}
)");
}

}  // namespace
}  // namespace kymo::shader::glsl_tests
