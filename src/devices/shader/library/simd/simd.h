// Apple's <simd/simd.h>, which host and kernels share: other names for vectors and matrices.
#pragma once

#define KYMO_SIMD_FOR_EACH(MACRO) \
  MACRO(char)                     \
  MACRO(uchar)                    \
  MACRO(short)                    \
  MACRO(ushort)                   \
  MACRO(int)                      \
  MACRO(uint)                     \
  MACRO(long)                     \
  MACRO(ulong)                    \
  MACRO(half)                     \
  MACRO(float)

#define KYMO_SIMD_NAME(type) \
  using type##2 = ::type##2; \
  using type##3 = ::type##3; \
  using type##4 = ::type##4;
namespace metal {
namespace kymo_simd {
using namespace metal;
KYMO_SIMD_FOR_EACH(KYMO_SIMD_NAME)
}  // namespace kymo_simd
}  // namespace metal
namespace simd = metal::kymo_simd;

#define KYMO_SIMD_VECTOR(type)      \
  using vector_##type##2 = type##2; \
  using simd_##type##2 = type##2;   \
  using vector_##type##3 = type##3; \
  using simd_##type##3 = type##3;   \
  using vector_##type##4 = type##4; \
  using simd_##type##4 = type##4;
KYMO_SIMD_FOR_EACH(KYMO_SIMD_VECTOR)

#define KYMO_SIMD_MATRIX(type) \
  using matrix_##type = type;  \
  using simd_##type = type;
#define KYMO_SIMD_MATRICES(type) \
  KYMO_SIMD_MATRIX(type##2x2)    \
  KYMO_SIMD_MATRIX(type##2x3)    \
  KYMO_SIMD_MATRIX(type##2x4)    \
  KYMO_SIMD_MATRIX(type##3x2)    \
  KYMO_SIMD_MATRIX(type##3x3)    \
  KYMO_SIMD_MATRIX(type##3x4)    \
  KYMO_SIMD_MATRIX(type##4x2)    \
  KYMO_SIMD_MATRIX(type##4x3)    \
  KYMO_SIMD_MATRIX(type##4x4)
KYMO_SIMD_MATRICES(float)
KYMO_SIMD_MATRICES(half)

#define KYMO_SIMD_FUNCTION(name) \
  template <typename... T>       \
  auto simd_##name(T... a) {     \
    return metal::name(a...);    \
  }
KYMO_SIMD_FUNCTION(abs)
KYMO_SIMD_FUNCTION(clamp)
KYMO_SIMD_FUNCTION(cross)
KYMO_SIMD_FUNCTION(distance)
KYMO_SIMD_FUNCTION(dot)
KYMO_SIMD_FUNCTION(length)
KYMO_SIMD_FUNCTION(length_squared)
KYMO_SIMD_FUNCTION(mix)
KYMO_SIMD_FUNCTION(normalize)
KYMO_SIMD_FUNCTION(reflect)
KYMO_SIMD_FUNCTION(transpose)
template <typename A, typename B>
auto simd_mul(A a, B b) {
  return a * b;
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

#undef KYMO_SIMD_FOR_EACH
#undef KYMO_SIMD_NAME
#undef KYMO_SIMD_VECTOR
#undef KYMO_SIMD_MATRIX
#undef KYMO_SIMD_MATRICES
#undef KYMO_SIMD_FUNCTION
#undef KYMO_SIMD_MAKE
