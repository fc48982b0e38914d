// Elements of strided tensors by the number of a thread, and the kernels of operations on one to three tensors.
//
//   struct square_functor { template <typename T> T operator()(const T x) { return x * x; } };
//   REGISTER_UNARY_OP(square, float, float);      // kernels square_dense_float_float, square_strided_float_float
//
// A name is NAME_dense_OUTPUT_INPUT, with _ALPHA at its end where there is one. Kernels whose name has "cast" take
// tensors of any type, with their ScalarType, and have no OUTPUT in their name. Strides are in elements for one tensor,
// and in bytes for more.
#pragma once
#include <c10/metal/common.h>
#include <c10/metal/utils.h>

#include <metal_stdlib>

namespace c10 {
namespace metal {

// ---- Positions

// The coordinates of element number `idx`, the first dimension running fastest.
template <typename idx_type>
void pos_from_thread_index(idx_type idx, thread idx_type* pos, constant long* sizes, uint ndim) {
  for (uint i = 0; i < ndim; ++i) {
    const idx_type size = idx_type(sizes[i]);
    pos[i] = idx % size;
    idx /= size;
  }
}

template <typename idx_type>
long offset_from_coord(thread idx_type* idx, constant long* strides, uint ndim) {
  long offset = 0;
  for (uint i = 0; i < ndim; ++i) offset += long(idx[i]) * strides[i];
  return offset;
}

template <typename idx_type>
long offset_from_thread_index(idx_type idx, constant long* sizes, constant long* strides, uint ndim) {
  idx_type pos[max_ndim];
  pos_from_thread_index(idx, pos, sizes, ndim);
  return offset_from_coord(pos, strides, ndim);
}

// ---- An element at so many bytes

template <typename T>
T val_at_offs(constant void* ptr, long offs) {
  return *reinterpret_cast<constant T*>(reinterpret_cast<constant char*>(ptr) + offs);
}
template <typename T>
T val_at_offs(device void* ptr, long offs) {
  return *reinterpret_cast<device T*>(reinterpret_cast<device char*>(ptr) + offs);
}
template <typename T>
constant T& ref_at_offs(constant void* ptr, long offs) {
  return *reinterpret_cast<constant T*>(reinterpret_cast<constant char*>(ptr) + offs);
}
template <typename T>
device T& ref_at_offs(device void* ptr, long offs) {
  return *reinterpret_cast<device T*>(reinterpret_cast<device char*>(ptr) + offs);
}
// Of a type that is known only when it runs.
template <typename T, typename P>
T val_at_offs(P ptr, long offs, ScalarType type) {
  switch (type) {
    case ScalarType::Bool:
      return cast_to<T>(val_at_offs<bool>(ptr, offs));
    case ScalarType::Byte:
      return cast_to<T>(val_at_offs<uchar>(ptr, offs));
    case ScalarType::Char:
      return cast_to<T>(val_at_offs<char>(ptr, offs));
    case ScalarType::Short:
      return cast_to<T>(val_at_offs<short>(ptr, offs));
    case ScalarType::Int:
      return cast_to<T>(val_at_offs<int>(ptr, offs));
    case ScalarType::Long:
      return cast_to<T>(val_at_offs<long>(ptr, offs));
    case ScalarType::Half:
      return cast_to<T>(val_at_offs<half>(ptr, offs));
    case ScalarType::Float:
      return cast_to<T>(val_at_offs<float>(ptr, offs));
    case ScalarType::BFloat16:
      return cast_to<T>(val_at_offs<bfloat>(ptr, offs));
    case ScalarType::ComplexHalf:
      return cast_to<T>(val_at_offs<half2>(ptr, offs));
    case ScalarType::ComplexFloat:
      return cast_to<T>(val_at_offs<float2>(ptr, offs));
  }
  return T(0);
}
template <typename T, typename P>
T val_at_offs(P ptr, long offs, uint type) {
  return val_at_offs<T>(ptr, offs, static_cast<ScalarType>(type));
}

#define KYMO_C10_KERNEL(name, ...) template [[host_name(name)]] kernel decltype(__VA_ARGS__) __VA_ARGS__;

// ---- One tensor

template <typename T, typename F, typename... A>
kernel void unary_dense(device result_of<F, T, A...>* output, constant T* input, constant A&... alpha,
                        uint index [[thread_position_in_grid]]) {
  output[index] = F()(input[index], alpha...);
}

template <typename T, typename F, typename... A>
kernel void unary_strided(device result_of<F, T, A...>* output, constant T* input, constant long* sizes,
                          constant long* input_strides, constant long* output_strides, constant uint& ndim,
                          constant A&... alpha, uint index [[thread_position_in_grid]]) {
  uint pos[max_ndim];
  pos_from_thread_index(index, pos, sizes, ndim);
  const T value = input[offset_from_coord(pos, input_strides, ndim)];
  output[offset_from_coord(pos, output_strides, ndim)] = F()(value, alpha...);
}

#define KYMO_C10_CHECK(NAME, OUTPUT, ...)                                                         \
  static_assert(::metal::is_same_v<OUTPUT, ::c10::metal::result_of<NAME##_functor, __VA_ARGS__>>, \
                "the functor of " #NAME " does not return " #OUTPUT);
#define REGISTER_UNARY_OP(NAME, INPUT, OUTPUT)                                                            \
  KYMO_C10_CHECK(NAME, OUTPUT, INPUT)                                                                     \
  KYMO_C10_KERNEL(#NAME "_dense_" #OUTPUT "_" #INPUT, c10::metal::unary_dense<INPUT, NAME##_functor>)     \
  KYMO_C10_KERNEL(#NAME "_strided_" #OUTPUT "_" #INPUT, c10::metal::unary_strided<INPUT, NAME##_functor>) \
  static_assert(true, "")
#define REGISTER_UNARY_ALPHA_OP(NAME, INPUT, ALPHA, OUTPUT)                \
  KYMO_C10_CHECK(NAME, OUTPUT, INPUT, ALPHA)                               \
  KYMO_C10_KERNEL(#NAME "_dense_" #OUTPUT "_" #INPUT "_" #ALPHA,           \
                  c10::metal::unary_dense<INPUT, NAME##_functor, ALPHA>)   \
  KYMO_C10_KERNEL(#NAME "_strided_" #OUTPUT "_" #INPUT "_" #ALPHA,         \
                  c10::metal::unary_strided<INPUT, NAME##_functor, ALPHA>) \
  static_assert(true, "")

// A functor of a function of floats. Integers are converted first.
#define DEFINE_UNARY_FLOATING_FUNCTOR(NAME)                                                          \
  struct NAME##_functor {                                                                            \
    template <typename T>                                                                            \
    ::c10::metal::floating_dtype<T> operator()(const T x) {                                          \
      return ::c10::metal::floating_dtype<T>(NAME(static_cast<::c10::metal::floating_dtype<T>>(x))); \
    }                                                                                                \
  }

// ---- Two tensors. A functor may take a number as well, of type A: `alpha` has one element or none.

template <typename T, typename F, typename C, typename... A>
kernel void binary_strided(device void* output, constant void* input, constant void* other, constant A&... alpha,
                           constant long* sizes, constant long* output_strides, constant long* input_strides,
                           constant long* other_strides, constant uint3& ndim, uint index [[thread_position_in_grid]]) {
  using R = result_of<F, T, T, A...>;
  uint pos[max_ndim];
  pos_from_thread_index(index, pos, sizes, ndim.x);
  const C a = C(val_at_offs<T>(input, offset_from_coord(pos, input_strides, ndim.x)));
  const C b = C(val_at_offs<T>(other, offset_from_coord(pos, other_strides, ndim.x)));
  ref_at_offs<R>(output, offset_from_coord(pos, output_strides, ndim.x)) = static_cast<R>(F()(a, b, alpha...));
}

template <typename T, typename F, typename C, typename... A>
kernel void binary_strided_cast(device void* output, constant void* input, constant void* other, constant A&... alpha,
                                constant long* sizes, constant long* output_strides, constant long* input_strides,
                                constant long* other_strides, constant uint4& ndim_types,
                                uint index [[thread_position_in_grid]]) {
  using R = result_of<F, T, T, A...>;
  const uint ndim = ndim_types.x;
  uint pos[max_ndim];
  pos_from_thread_index(index, pos, sizes, ndim);
  const C a = val_at_offs<C>(input, offset_from_coord(pos, input_strides, ndim), ndim_types.y);
  const C b = val_at_offs<C>(other, offset_from_coord(pos, other_strides, ndim), ndim_types.z);
  ref_at_offs<R>(output, offset_from_coord(pos, output_strides, ndim)) = static_cast<R>(F()(a, b, alpha...));
}

template <typename T, typename F, typename C, typename... A>
kernel void binary_dense(device result_of<F, T, T, A...>* output, constant T* input, constant T* other,
                         constant A&... alpha, uint index [[thread_position_in_grid]]) {
  using R = result_of<F, T, T, A...>;
  output[index] = static_cast<R>(F()(C(input[index]), C(other[index]), alpha...));
}

template <typename T, typename F, typename C, typename... A>
kernel void binary_dense_cast(device result_of<F, T, T, A...>* output, constant void* input, constant void* other,
                              constant A&... alpha, constant uint4& sizes_types,
                              uint index [[thread_position_in_grid]]) {
  using R = result_of<F, T, T, A...>;
  const C a = val_at_offs<C>(input, long(index) * sizes_types.x, sizes_types.z);
  const C b = val_at_offs<C>(other, long(index) * sizes_types.y, sizes_types.w);
  output[index] = static_cast<R>(F()(a, b, alpha...));
}

// One of the two tensors has `count` elements, which repeat.
template <typename T, typename F, typename C, typename... A>
kernel void binary_dense_broadcast(device result_of<F, T, T, A...>* output, constant T* input, constant T* broadcast,
                                   constant long& count, constant A&... alpha, uint index [[thread_position_in_grid]]) {
  using R = result_of<F, T, T, A...>;
  output[index] = static_cast<R>(F()(C(input[index]), C(broadcast[index % count]), alpha...));
}

template <typename T, typename F, typename C, typename... A>
kernel void binary_dense_broadcast_rhs(device result_of<F, T, T, A...>* output, constant T* broadcast,
                                       constant T* input, constant long& count, constant A&... alpha,
                                       uint index [[thread_position_in_grid]]) {
  using R = result_of<F, T, T, A...>;
  output[index] = static_cast<R>(F()(C(broadcast[index % count]), C(input[index]), alpha...));
}

template <typename T, typename F, typename C, typename... A>
kernel void binary_dense_broadcast_cast(device result_of<F, T, T, A...>* output, constant void* input,
                                        constant void* broadcast, constant long& count, constant A&... alpha,
                                        constant uint4& sizes_types, uint index [[thread_position_in_grid]]) {
  using R = result_of<F, T, T, A...>;
  const C a = val_at_offs<C>(input, long(index) * sizes_types.x, sizes_types.z);
  const C b = val_at_offs<C>(broadcast, long(index % count) * sizes_types.y, sizes_types.w);
  output[index] = static_cast<R>(F()(a, b, alpha...));
}

template <typename T, typename F, typename C, typename... A>
kernel void binary_dense_broadcast_rhs_cast(device result_of<F, T, T, A...>* output, constant void* broadcast,
                                            constant void* input, constant long& count, constant A&... alpha,
                                            constant uint4& sizes_types, uint index [[thread_position_in_grid]]) {
  using R = result_of<F, T, T, A...>;
  const C a = val_at_offs<C>(broadcast, long(index % count) * sizes_types.x, sizes_types.z);
  const C b = val_at_offs<C>(input, long(index) * sizes_types.y, sizes_types.w);
  output[index] = static_cast<R>(F()(a, b, alpha...));
}

template <typename T, typename F, typename C, typename... A>
kernel void binary_dense_scalar(device result_of<F, T, T, A...>* output, constant T* input, device T* scalar,
                                constant A&... alpha, uint index [[thread_position_in_grid]]) {
  using R = result_of<F, T, T, A...>;
  output[index] = static_cast<R>(F()(C(input[index]), C(scalar[0]), alpha...));
}

template <typename T, typename F, typename C, typename... A>
kernel void binary_dense_scalar_lhs(device result_of<F, T, T, A...>* output, device T* scalar, constant T* input,
                                    constant A&... alpha, uint index [[thread_position_in_grid]]) {
  using R = result_of<F, T, T, A...>;
  output[index] = static_cast<R>(F()(C(scalar[0]), C(input[index]), alpha...));
}

template <typename T, typename F, typename C, typename... A>
kernel void binary_dense_scalar_cast(device result_of<F, T, T, A...>* output, constant void* input, device void* scalar,
                                     constant A&... alpha, constant uint4& sizes_types,
                                     uint index [[thread_position_in_grid]]) {
  using R = result_of<F, T, T, A...>;
  const C a = val_at_offs<C>(input, long(index) * sizes_types.x, sizes_types.z);
  const C b = val_at_offs<C>(scalar, 0l, sizes_types.w);
  output[index] = static_cast<R>(F()(a, b, alpha...));
}

template <typename T, typename F, typename C, typename... A>
kernel void binary_dense_scalar_lhs_cast(device result_of<F, T, T, A...>* output, device void* scalar,
                                         constant void* input, constant A&... alpha, constant uint4& sizes_types,
                                         uint index [[thread_position_in_grid]]) {
  using R = result_of<F, T, T, A...>;
  const C a = val_at_offs<C>(scalar, 0l, sizes_types.z);
  const C b = val_at_offs<C>(input, long(index) * sizes_types.y, sizes_types.w);
  output[index] = static_cast<R>(F()(a, b, alpha...));
}

// FULL and SHORT end the names of the kernels; the rest are their template arguments.
#define KYMO_C10_BINARY_KERNELS(NAME, FULL, SHORT, ...)                                                               \
  KYMO_C10_KERNEL(#NAME "_strided_" FULL, c10::metal::binary_strided<__VA_ARGS__>)                                    \
  KYMO_C10_KERNEL(#NAME "_strided_cast_" SHORT, c10::metal::binary_strided_cast<__VA_ARGS__>)                         \
  KYMO_C10_KERNEL(#NAME "_dense_" FULL, c10::metal::binary_dense<__VA_ARGS__>)                                        \
  KYMO_C10_KERNEL(#NAME "_dense_cast_" SHORT, c10::metal::binary_dense_cast<__VA_ARGS__>)                             \
  KYMO_C10_KERNEL(#NAME "_dense_broadcast_" FULL, c10::metal::binary_dense_broadcast<__VA_ARGS__>)                    \
  KYMO_C10_KERNEL(#NAME "_dense_broadcast_rhs_" FULL, c10::metal::binary_dense_broadcast_rhs<__VA_ARGS__>)            \
  KYMO_C10_KERNEL(#NAME "_dense_broadcast_cast_" SHORT, c10::metal::binary_dense_broadcast_cast<__VA_ARGS__>)         \
  KYMO_C10_KERNEL(#NAME "_dense_broadcast_rhs_cast_" SHORT, c10::metal::binary_dense_broadcast_rhs_cast<__VA_ARGS__>) \
  KYMO_C10_KERNEL(#NAME "_dense_scalar_" FULL, c10::metal::binary_dense_scalar<__VA_ARGS__>)                          \
  KYMO_C10_KERNEL(#NAME "_dense_scalar_lhs_" FULL, c10::metal::binary_dense_scalar_lhs<__VA_ARGS__>)                  \
  KYMO_C10_KERNEL(#NAME "_dense_scalar_cast_" SHORT, c10::metal::binary_dense_scalar_cast<__VA_ARGS__>)               \
  KYMO_C10_KERNEL(#NAME "_dense_scalar_lhs_cast_" SHORT, c10::metal::binary_dense_scalar_lhs_cast<__VA_ARGS__>)       \
  static_assert(true, "")
#define KYMO_C10_BINARY_OP(NAME, INPUT, OUTPUT, ...) \
  KYMO_C10_CHECK(NAME, OUTPUT, INPUT, INPUT)         \
  KYMO_C10_BINARY_KERNELS(NAME, #OUTPUT "_" #INPUT, #INPUT, INPUT, NAME##_functor, __VA_ARGS__)

#define REGISTER_BINARY_OP(NAME, INPUT, OUTPUT) KYMO_C10_BINARY_OP(NAME, INPUT, OUTPUT, INPUT)
// The functor gets float instead of half, and int instead of short.
#define REGISTER_OPMATH_BINARY_OP(NAME, INPUT, OUTPUT) \
  KYMO_C10_BINARY_OP(NAME, INPUT, OUTPUT, ::c10::metal::opmath_t<INPUT>)
#define REGISTER_BINARY_ALPHA_OP(NAME, INPUT, ALPHA, OUTPUT) \
  KYMO_C10_CHECK(NAME, OUTPUT, INPUT, INPUT, ALPHA)          \
  KYMO_C10_BINARY_KERNELS(NAME, #OUTPUT "_" #INPUT "_" #ALPHA, #INPUT "_" #ALPHA, INPUT, NAME##_functor, INPUT, ALPHA)

#define REGISTER_BINARY_INDEXING_OP(NAME, INPUT)                                                      \
  KYMO_C10_KERNEL(#NAME "_strided_" #INPUT, c10::metal::binary_strided<INPUT, NAME##_functor, INPUT>) \
  KYMO_C10_KERNEL(#NAME "_dense_" #INPUT, c10::metal::binary_dense<INPUT, NAME##_functor, INPUT>)     \
  static_assert(true, "")

// ---- Three tensors

template <typename T, typename F, typename C = T>
kernel void ternary_strided(device void* output [[buffer(0)]], constant void* input [[buffer(1)]],
                            constant void* other1 [[buffer(2)]], constant void* other2 [[buffer(3)]],
                            constant long* sizes [[buffer(4)]], constant long* output_strides [[buffer(5)]],
                            constant long* input_strides [[buffer(6)]], constant long* other1_strides [[buffer(7)]],
                            constant long* other2_strides [[buffer(8)]], constant uint& ndim [[buffer(9)]],
                            uint index [[thread_position_in_grid]]) {
  using R = result_of<F, T, T, T>;
  uint pos[max_ndim];
  pos_from_thread_index(index, pos, sizes, ndim);
  const C a = C(val_at_offs<T>(input, offset_from_coord(pos, input_strides, ndim)));
  const C b = C(val_at_offs<T>(other1, offset_from_coord(pos, other1_strides, ndim)));
  const C c = C(val_at_offs<T>(other2, offset_from_coord(pos, other2_strides, ndim)));
  ref_at_offs<R>(output, offset_from_coord(pos, output_strides, ndim)) = static_cast<R>(F()(a, b, c));
}

template <typename T, typename F, typename C = T>
kernel void ternary_strided_cast(device void* output [[buffer(0)]], constant void* input [[buffer(1)]],
                                 constant void* other1 [[buffer(2)]], constant void* other2 [[buffer(3)]],
                                 constant long* sizes [[buffer(4)]], constant long* output_strides [[buffer(5)]],
                                 constant long* input_strides [[buffer(6)]],
                                 constant long* other1_strides [[buffer(7)]],
                                 constant long* other2_strides [[buffer(8)]], constant uint& ndim [[buffer(9)]],
                                 constant uint4& types [[buffer(10)]], uint index [[thread_position_in_grid]]) {
  using R = result_of<F, T, T, T>;
  uint pos[max_ndim];
  pos_from_thread_index(index, pos, sizes, ndim);
  const C a = val_at_offs<C>(input, offset_from_coord(pos, input_strides, ndim), types.x);
  const C b = val_at_offs<C>(other1, offset_from_coord(pos, other1_strides, ndim), types.y);
  const C c = val_at_offs<C>(other2, offset_from_coord(pos, other2_strides, ndim), types.z);
  ref_at_offs<R>(output, offset_from_coord(pos, output_strides, ndim)) = static_cast<R>(F()(a, b, c));
}

template <typename T, typename F, typename C = T>
kernel void ternary_dense(device result_of<F, T, T, T>* output [[buffer(0)]], constant T* input [[buffer(1)]],
                          constant T* other1 [[buffer(2)]], constant T* other2 [[buffer(3)]],
                          uint index [[thread_position_in_grid]]) {
  using R = result_of<F, T, T, T>;
  output[index] = static_cast<R>(F()(C(input[index]), C(other1[index]), C(other2[index])));
}

template <typename T, typename F, typename C = T>
kernel void ternary_dense_cast(device result_of<F, T, T, T>* output [[buffer(0)]], constant void* input [[buffer(1)]],
                               constant void* other1 [[buffer(2)]], constant void* other2 [[buffer(3)]],
                               constant uint3& sizes [[buffer(4)]], constant uint3& types [[buffer(5)]],
                               uint index [[thread_position_in_grid]]) {
  using R = result_of<F, T, T, T>;
  const C a = val_at_offs<C>(input, long(index) * sizes.x, types.x);
  const C b = val_at_offs<C>(other1, long(index) * sizes.y, types.y);
  const C c = val_at_offs<C>(other2, long(index) * sizes.z, types.z);
  output[index] = static_cast<R>(F()(a, b, c));
}

#define KYMO_C10_TERNARY_OP(NAME, INPUT, OUTPUT, ...)                                                                  \
  KYMO_C10_CHECK(NAME, OUTPUT, INPUT, INPUT, INPUT)                                                                    \
  KYMO_C10_KERNEL(#NAME "_strided_" #OUTPUT "_" #INPUT,                                                                \
                  c10::metal::ternary_strided<INPUT, NAME##_functor, __VA_ARGS__>)                                     \
  KYMO_C10_KERNEL(#NAME "_strided_cast_" #INPUT, c10::metal::ternary_strided_cast<INPUT, NAME##_functor, __VA_ARGS__>) \
  KYMO_C10_KERNEL(#NAME "_dense_" #OUTPUT "_" #INPUT, c10::metal::ternary_dense<INPUT, NAME##_functor, __VA_ARGS__>)   \
  KYMO_C10_KERNEL(#NAME "_dense_cast_" #INPUT, c10::metal::ternary_dense_cast<INPUT, NAME##_functor, __VA_ARGS__>)     \
  static_assert(true, "")

#define REGISTER_TERNARY_OP(NAME, INPUT, OUTPUT) KYMO_C10_TERNARY_OP(NAME, INPUT, OUTPUT, INPUT)
#define REGISTER_OPMATH_TERNARY_OP(NAME, INPUT, OUTPUT) \
  KYMO_C10_TERNARY_OP(NAME, INPUT, OUTPUT, ::c10::metal::opmath_t<INPUT>)

}  // namespace metal
}  // namespace c10
