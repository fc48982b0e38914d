// Apple's <simd/simd.h>, which host and kernels share: other names for vectors and matrices.
#pragma once

namespace metal {
namespace kymo_simd {
using namespace metal;
using char2 = ::char2;
using char3 = ::char3;
using char4 = ::char4;
using uchar2 = ::uchar2;
using uchar3 = ::uchar3;
using uchar4 = ::uchar4;
using short2 = ::short2;
using short3 = ::short3;
using short4 = ::short4;
using ushort2 = ::ushort2;
using ushort3 = ::ushort3;
using ushort4 = ::ushort4;
using int2 = ::int2;
using int3 = ::int3;
using int4 = ::int4;
using uint2 = ::uint2;
using uint3 = ::uint3;
using uint4 = ::uint4;
using long2 = ::long2;
using long3 = ::long3;
using long4 = ::long4;
using ulong2 = ::ulong2;
using ulong3 = ::ulong3;
using ulong4 = ::ulong4;
using half2 = ::half2;
using half3 = ::half3;
using half4 = ::half4;
using float2 = ::float2;
using float3 = ::float3;
using float4 = ::float4;
}  // namespace kymo_simd
}  // namespace metal
namespace simd = metal::kymo_simd;

using vector_char2 = char2;
using simd_char2 = char2;
using vector_char3 = char3;
using simd_char3 = char3;
using vector_char4 = char4;
using simd_char4 = char4;
using vector_uchar2 = uchar2;
using simd_uchar2 = uchar2;
using vector_uchar3 = uchar3;
using simd_uchar3 = uchar3;
using vector_uchar4 = uchar4;
using simd_uchar4 = uchar4;
using vector_short2 = short2;
using simd_short2 = short2;
using vector_short3 = short3;
using simd_short3 = short3;
using vector_short4 = short4;
using simd_short4 = short4;
using vector_ushort2 = ushort2;
using simd_ushort2 = ushort2;
using vector_ushort3 = ushort3;
using simd_ushort3 = ushort3;
using vector_ushort4 = ushort4;
using simd_ushort4 = ushort4;
using vector_int2 = int2;
using simd_int2 = int2;
using vector_int3 = int3;
using simd_int3 = int3;
using vector_int4 = int4;
using simd_int4 = int4;
using vector_uint2 = uint2;
using simd_uint2 = uint2;
using vector_uint3 = uint3;
using simd_uint3 = uint3;
using vector_uint4 = uint4;
using simd_uint4 = uint4;
using vector_long2 = long2;
using simd_long2 = long2;
using vector_long3 = long3;
using simd_long3 = long3;
using vector_long4 = long4;
using simd_long4 = long4;
using vector_ulong2 = ulong2;
using simd_ulong2 = ulong2;
using vector_ulong3 = ulong3;
using simd_ulong3 = ulong3;
using vector_ulong4 = ulong4;
using simd_ulong4 = ulong4;
using vector_half2 = half2;
using simd_half2 = half2;
using vector_half3 = half3;
using simd_half3 = half3;
using vector_half4 = half4;
using simd_half4 = half4;
using vector_float2 = float2;
using simd_float2 = float2;
using vector_float3 = float3;
using simd_float3 = float3;
using vector_float4 = float4;
using simd_float4 = float4;
using matrix_float2x2 = float2x2;
using simd_float2x2 = float2x2;
using matrix_float2x3 = float2x3;
using simd_float2x3 = float2x3;
using matrix_float2x4 = float2x4;
using simd_float2x4 = float2x4;
using matrix_float3x2 = float3x2;
using simd_float3x2 = float3x2;
using matrix_float3x3 = float3x3;
using simd_float3x3 = float3x3;
using matrix_float3x4 = float3x4;
using simd_float3x4 = float3x4;
using matrix_float4x2 = float4x2;
using simd_float4x2 = float4x2;
using matrix_float4x3 = float4x3;
using simd_float4x3 = float4x3;
using matrix_float4x4 = float4x4;
using simd_float4x4 = float4x4;
using matrix_half2x2 = half2x2;
using simd_half2x2 = half2x2;
using matrix_half4x3 = half4x3;
using simd_half4x3 = half4x3;
using matrix_half4x2 = half4x2;
using simd_half4x2 = half4x2;
using matrix_half3x4 = half3x4;
using simd_half3x4 = half3x4;
using matrix_half3x2 = half3x2;
using simd_half3x2 = half3x2;
using matrix_half2x4 = half2x4;
using simd_half2x4 = half2x4;
using matrix_half2x3 = half2x3;
using simd_half2x3 = half2x3;
using matrix_half3x3 = half3x3;
using simd_half3x3 = half3x3;
using matrix_half4x4 = half4x4;
using simd_half4x4 = half4x4;
template <typename T>
auto simd_dot(T a, T b) {
  return metal::dot(a, b);
}
template <typename T>
auto simd_cross(T a, T b) {
  return metal::cross(a, b);
}
template <typename T>
auto simd_length(T a) {
  return metal::length(a);
}
template <typename T>
auto simd_normalize(T a) {
  return metal::normalize(a);
}
template <typename T>
auto simd_distance(T a, T b) {
  return metal::distance(a, b);
}
template <typename T>
auto simd_reflect(T a, T b) {
  return metal::reflect(a, b);
}
template <typename T>
auto simd_clamp(T a, T b, T c) {
  return metal::clamp(a, b, c);
}
template <typename T>
auto simd_mix(T a, T b, T c) {
  return metal::mix(a, b, c);
}

#define KYMO_SIMD_MAKE(type)                                                                         \
  inline type##2 simd_make_##type##2(type x, type y) { return type##2(x, y); }                       \
  inline type##3 simd_make_##type##3(type x, type y, type z) { return type##3(x, y, z); }            \
  inline type##3 simd_make_##type##3(type##2 xy, type z) { return type##3(xy, z); }                  \
  inline type##4 simd_make_##type##4(type x, type y, type z, type w) { return type##4(x, y, z, w); } \
  inline type##4 simd_make_##type##4(type##3 xyz, type w) { return type##4(xyz, w); }
KYMO_SIMD_MAKE(float)
KYMO_SIMD_MAKE(half)
KYMO_SIMD_MAKE(int)
KYMO_SIMD_MAKE(uint)
KYMO_SIMD_MAKE(short)
KYMO_SIMD_MAKE(ushort)
KYMO_SIMD_MAKE(char)
KYMO_SIMD_MAKE(uchar)
#undef KYMO_SIMD_MAKE

template <typename T>
auto simd_abs(T a) {
  return metal::abs(a);
}
template <typename T>
auto simd_length_squared(T a) {
  return metal::length_squared(a);
}
template <typename A, typename B>
auto simd_mul(A a, B b) {
  return a * b;
}
template <typename T>
auto simd_transpose(T a) {
  return metal::transpose(a);
}
