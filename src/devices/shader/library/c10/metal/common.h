// Names that host and kernels share.
#pragma once
#include <metal_stdlib>

#define C10_METAL_CONSTEXPR constant constexpr
#define IF_CONSTEXPR constexpr  // if IF_CONSTEXPR (condition)
#define C10_METAL_ALL_TYPES_FUNCTOR(_) \
  _(Byte, 0)                           \
  _(Char, 1)                           \
  _(Short, 2)                          \
  _(Int, 3)                            \
  _(Long, 4)                           \
  _(Half, 5)                           \
  _(Float, 6)                          \
  _(ComplexHalf, 8)                    \
  _(ComplexFloat, 9)                   \
  _(Bool, 11) _(BFloat16, 15) _(UInt16, 27) _(UInt32, 28) _(UInt64, 29)

namespace c10 {
namespace metal {

C10_METAL_CONSTEXPR unsigned max_ndim = 16;
C10_METAL_CONSTEXPR unsigned simdgroup_size = 32;
C10_METAL_CONSTEXPR unsigned error_message_count = 30;
C10_METAL_CONSTEXPR unsigned ILP_PER_THREAD = 4;  // number of elements that a thread of a wide kernel processes
#define C10_METAL_ILP_PER_THREAD_STR "4"

template <typename T, unsigned N>
using array = ::metal::array<T, N>;
template <typename T>
using vec3 = ::metal::vec<T, 3>;
template <typename T>
using complex = ::metal::vec<T, 2>;

// Rounded up: the quotient, and a to a multiple of b. Both are positive.
template <typename T, typename U>
constexpr decltype(T(0) + U(0)) ceil_div(T a, U b) {
  return (a + b - 1) / b;
}
template <typename T, typename U>
constexpr decltype(T(0) + U(0)) round_up(T a, U b) {
  return ceil_div(a, b) * b;
}

enum class ScalarType {
#define C10_METAL_SCALAR_TYPE(name, number) name = number,
  C10_METAL_ALL_TYPES_FUNCTOR(C10_METAL_SCALAR_TYPE)
#undef C10_METAL_SCALAR_TYPE
};

}  // namespace metal
}  // namespace c10
