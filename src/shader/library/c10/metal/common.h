// Names that host and kernels share.
#pragma once

#define C10_METAL_CONSTEXPR constant constexpr
#define C10_METAL_ALL_TYPES_FUNCTOR(_) \
  _(Byte, 0)                           \
  _(Char, 1)                           \
  _(Short, 2)                          \
  _(Int, 3) _(Long, 4) _(Half, 5) _(Float, 6) _(ComplexHalf, 8) _(ComplexFloat, 9) _(Bool, 11) _(BFloat16, 15)

namespace c10 {
namespace metal {

C10_METAL_CONSTEXPR unsigned max_ndim = 16;
C10_METAL_CONSTEXPR unsigned simdgroup_size = 32;
C10_METAL_CONSTEXPR unsigned error_message_count = 30;

enum class ScalarType {
#define C10_METAL_SCALAR_TYPE(name, number) name = number,
  C10_METAL_ALL_TYPES_FUNCTOR(C10_METAL_SCALAR_TYPE)
#undef C10_METAL_SCALAR_TYPE
};

}  // namespace metal
}  // namespace c10
