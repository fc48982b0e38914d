// Elements of strided tensors by the number of a thread, and the kernels of operations on one to three tensors.
//
//   struct square_functor { template <typename T> T operator()(const T x) { return x * x; } };
//   REGISTER_UNARY_OP(square, float, float);      // kernels square_dense_float_float, square_strided_float_float
//
// A name is NAME_dense_OUTPUT_INPUT, with _ALPHA at its end where there is one. Kernels whose name has "cast" take
// tensors of any type, with their ScalarType, and have no OUTPUT in their name. Kernels with "castout" write a tensor
// of any type. Strides are in elements for one tensor, and in bytes for more, and for kernels with "cast".
#pragma once
#include <c10/metal/elements.h>
#include <c10/metal/utils.h>

#include <metal_stdlib>

namespace c10 {
namespace metal {

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
  const auto offsets = offsets_from_thread_index(index, sizes, ndim, input_strides, output_strides);
  const T value = input[offsets.of[0]];
  output[offsets.of[1]] = F()(value, alpha...);
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

// A tensor of any type: NAME_dense_cast_OUTPUT and NAME_strided_cast_OUTPUT. The functor gets what is read as OUTPUT.
template <typename T, typename F>
kernel void unary_dense_cast(device result_of<F, T>* output, constant void* input, constant uint2& size_type,
                             uint index [[thread_position_in_grid]]) {
  output[index] = F()(val_at_offs<T>(input, long(index) * size_type.x, size_type.y));
}

template <typename T, typename F>
kernel void unary_strided_cast(device void* output, constant void* input, constant long* sizes,
                               constant long* input_strides, constant long* output_strides, constant uint2& ndim_type,
                               uint2 at [[thread_position_in_grid]]) {
  const auto offsets = offsets_from_thread_index(at, sizes, ndim_type.x, input_strides, output_strides);
  const T value = val_at_offs<T>(input, offsets.of[0], ndim_type.y);
  ref_at_offs<result_of<F, T>>(output, offsets.of[1]) = F()(value);
}

// To a tensor of any type: NAME_dense_castout_INPUT and NAME_strided_castout_INPUT. The result is converted.
template <typename T, typename F>
kernel void unary_dense_castout(device void* output, constant T* input, constant uint2& size_type,
                                uint index [[thread_position_in_grid]]) {
  store_at_offs<result_of<F, T>>(output, long(index) * size_type.x, size_type.y, F()(input[index]));
}

template <typename T, typename F>
kernel void unary_strided_castout(device void* output, constant void* input, constant long* sizes,
                                  constant long* input_strides, constant long* output_strides,
                                  constant uint2& ndim_type, uint2 at [[thread_position_in_grid]]) {
  const auto offsets = offsets_from_thread_index(at, sizes, ndim_type.x, input_strides, output_strides);
  const T value = val_at_offs<T>(input, offsets.of[0]);
  store_at_offs<result_of<F, T>>(output, offsets.of[1], ndim_type.y, F()(value));
}

#define REGISTER_UNARY_OP_CAST(NAME, OUTPUT)                                                              \
  KYMO_C10_KERNEL(#NAME "_dense_cast_" #OUTPUT, c10::metal::unary_dense_cast<OUTPUT, NAME##_functor>)     \
  KYMO_C10_KERNEL(#NAME "_strided_cast_" #OUTPUT, c10::metal::unary_strided_cast<OUTPUT, NAME##_functor>) \
  static_assert(true, "")
#define REGISTER_UNARY_OP_CASTOUT(NAME, INPUT)                                                                \
  KYMO_C10_KERNEL(#NAME "_dense_castout_" #INPUT, c10::metal::unary_dense_castout<INPUT, NAME##_functor>)     \
  KYMO_C10_KERNEL(#NAME "_strided_castout_" #INPUT, c10::metal::unary_strided_castout<INPUT, NAME##_functor>) \
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
  const auto offsets = offsets_from_thread_index(index, sizes, ndim.x, input_strides, other_strides, output_strides);
  const C a = C(val_at_offs<T>(input, offsets.of[0]));
  const C b = C(val_at_offs<T>(other, offsets.of[1]));
  ref_at_offs<R>(output, offsets.of[2]) = static_cast<R>(F()(a, b, alpha...));
}

template <typename T, typename F, typename C, typename... A>
kernel void binary_strided_cast(device void* output, constant void* input, constant void* other, constant A&... alpha,
                                constant long* sizes, constant long* output_strides, constant long* input_strides,
                                constant long* other_strides, constant uint4& ndim_types,
                                uint index [[thread_position_in_grid]]) {
  using R = result_of<F, T, T, A...>;
  const uint ndim = ndim_types.x;
  const auto offsets = offsets_from_thread_index(index, sizes, ndim, input_strides, other_strides, output_strides);
  const C a = val_at_offs<C>(input, offsets.of[0], ndim_types.y);
  const C b = val_at_offs<C>(other, offsets.of[1], ndim_types.z);
  ref_at_offs<R>(output, offsets.of[2]) = static_cast<R>(F()(a, b, alpha...));
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

// The type of the output is the last of ndim_types.
template <typename T, typename F, typename C>
kernel void binary_strided_castout(device void* output, constant void* input, constant void* other,
                                   constant long* sizes, constant long* output_strides, constant long* input_strides,
                                   constant long* other_strides, constant uint4& ndim_types,
                                   uint index [[thread_position_in_grid]]) {
  using R = result_of<F, T, T>;
  const uint ndim = ndim_types.x;
  const auto offsets = offsets_from_thread_index(index, sizes, ndim, input_strides, other_strides, output_strides);
  const C a = val_at_offs<C>(input, offsets.of[0], ndim_types.y);
  const C b = val_at_offs<C>(other, offsets.of[1], ndim_types.z);
  store_at_offs<R>(output, offsets.of[2], ndim_types.w, static_cast<R>(F()(a, b)));
}

#define REGISTER_BINARY_CASTOUT_OP(NAME, INPUT, OUTPUT)                             \
  KYMO_C10_CHECK(NAME, OUTPUT, INPUT, INPUT)                                        \
  KYMO_C10_KERNEL(#NAME "_strided_castout_" #OUTPUT "_" #INPUT,                     \
                  c10::metal::binary_strided_castout<INPUT, NAME##_functor, INPUT>) \
  static_assert(true, "")

#define DEFINE_BINARY_COMPARISON_FUNCTOR(NAME, OPERATOR) \
  struct NAME##_functor {                                \
    template <typename T>                                \
    bool operator()(const T a, const T b) {              \
      return a OPERATOR b;                               \
    }                                                    \
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
#define REGISTER_BINARY_OP_(NAME, INPUT, OUTPUT, ...) \
  KYMO_C10_CHECK(NAME, OUTPUT, INPUT, INPUT)          \
  KYMO_C10_BINARY_KERNELS(NAME, #OUTPUT "_" #INPUT, #INPUT, INPUT, NAME##_functor, __VA_ARGS__)

#define REGISTER_BINARY_OP(NAME, INPUT, OUTPUT) REGISTER_BINARY_OP_(NAME, INPUT, OUTPUT, INPUT)
// The functor gets float instead of half, and int instead of short.
#define REGISTER_OPMATH_BINARY_OP(NAME, INPUT, OUTPUT) \
  REGISTER_BINARY_OP_(NAME, INPUT, OUTPUT, ::c10::metal::opmath_t<INPUT>)
#define REGISTER_BINARY_ALPHA_OP(NAME, INPUT, ALPHA, OUTPUT) \
  KYMO_C10_CHECK(NAME, OUTPUT, INPUT, INPUT, ALPHA)          \
  KYMO_C10_BINARY_KERNELS(NAME, #OUTPUT "_" #INPUT "_" #ALPHA, #INPUT "_" #ALPHA, INPUT, NAME##_functor, INPUT, ALPHA)

#define REGISTER_BINARY_INDEXING_OP(NAME, INPUT)                                                      \
  KYMO_C10_KERNEL(#NAME "_strided_" #INPUT, c10::metal::binary_strided<INPUT, NAME##_functor, INPUT>) \
  KYMO_C10_KERNEL(#NAME "_dense_" #INPUT, c10::metal::binary_dense<INPUT, NAME##_functor, INPUT>)     \
  static_assert(true, "")

// ---- Three tensors, and a number of type A or none

template <typename T, typename F, typename C, typename... A>
kernel void ternary_strided(device void* output, constant void* input, constant void* other1, constant void* other2,
                            constant A&... alpha, constant long* sizes, constant long* output_strides,
                            constant long* input_strides, constant long* other1_strides, constant long* other2_strides,
                            constant uint& ndim, uint index [[thread_position_in_grid]]) {
  using R = result_of<F, T, T, T, A...>;
  const auto offsets =
      offsets_from_thread_index(index, sizes, ndim, input_strides, other1_strides, other2_strides, output_strides);
  const C a = C(val_at_offs<T>(input, offsets.of[0]));
  const C b = C(val_at_offs<T>(other1, offsets.of[1]));
  const C c = C(val_at_offs<T>(other2, offsets.of[2]));
  ref_at_offs<R>(output, offsets.of[3]) = static_cast<R>(F()(a, b, c, alpha...));
}

template <typename T, typename F, typename C, typename... A>
kernel void ternary_strided_cast(device void* output, constant void* input, constant void* other1,
                                 constant void* other2, constant A&... alpha, constant long* sizes,
                                 constant long* output_strides, constant long* input_strides,
                                 constant long* other1_strides, constant long* other2_strides, constant uint& ndim,
                                 constant uint4& types, uint index [[thread_position_in_grid]]) {
  using R = result_of<F, T, T, T, A...>;
  const auto offsets =
      offsets_from_thread_index(index, sizes, ndim, input_strides, other1_strides, other2_strides, output_strides);
  const C a = val_at_offs<C>(input, offsets.of[0], types.x);
  const C b = val_at_offs<C>(other1, offsets.of[1], types.y);
  const C c = val_at_offs<C>(other2, offsets.of[2], types.z);
  ref_at_offs<R>(output, offsets.of[3]) = static_cast<R>(F()(a, b, c, alpha...));
}

template <typename T, typename F, typename C, typename... A>
kernel void ternary_dense(device result_of<F, T, T, T, A...>* output, constant T* input, constant T* other1,
                          constant T* other2, constant A&... alpha, uint index [[thread_position_in_grid]]) {
  using R = result_of<F, T, T, T, A...>;
  output[index] = static_cast<R>(F()(C(input[index]), C(other1[index]), C(other2[index]), alpha...));
}

template <typename T, typename F, typename C, typename... A>
kernel void ternary_dense_cast(device result_of<F, T, T, T, A...>* output, constant void* input, constant void* other1,
                               constant void* other2, constant A&... alpha, constant uint3& sizes,
                               constant uint3& types, uint index [[thread_position_in_grid]]) {
  using R = result_of<F, T, T, T, A...>;
  const C a = val_at_offs<C>(input, long(index) * sizes.x, types.x);
  const C b = val_at_offs<C>(other1, long(index) * sizes.y, types.y);
  const C c = val_at_offs<C>(other2, long(index) * sizes.z, types.z);
  output[index] = static_cast<R>(F()(a, b, c, alpha...));
}

#define KYMO_C10_TERNARY_KERNELS(NAME, FULL, SHORT, ...)                                       \
  KYMO_C10_KERNEL(#NAME "_strided_" FULL, c10::metal::ternary_strided<__VA_ARGS__>)            \
  KYMO_C10_KERNEL(#NAME "_strided_cast_" SHORT, c10::metal::ternary_strided_cast<__VA_ARGS__>) \
  KYMO_C10_KERNEL(#NAME "_dense_" FULL, c10::metal::ternary_dense<__VA_ARGS__>)                \
  KYMO_C10_KERNEL(#NAME "_dense_cast_" SHORT, c10::metal::ternary_dense_cast<__VA_ARGS__>)     \
  static_assert(true, "")
#define REGISTER_TERNARY_OP_(NAME, INPUT, OUTPUT, ...) \
  KYMO_C10_CHECK(NAME, OUTPUT, INPUT, INPUT, INPUT)    \
  KYMO_C10_TERNARY_KERNELS(NAME, #OUTPUT "_" #INPUT, #INPUT, INPUT, NAME##_functor, __VA_ARGS__)

#define REGISTER_TERNARY_OP(NAME, INPUT, OUTPUT) REGISTER_TERNARY_OP_(NAME, INPUT, OUTPUT, INPUT)
#define REGISTER_OPMATH_TERNARY_OP(NAME, INPUT, OUTPUT) \
  REGISTER_TERNARY_OP_(NAME, INPUT, OUTPUT, ::c10::metal::opmath_t<INPUT>)
#define REGISTER_OPMATH_TERNARY_ALPHA_OP(NAME, INPUT, ALPHA, OUTPUT)                                      \
  KYMO_C10_CHECK(NAME, OUTPUT, INPUT, INPUT, INPUT, ALPHA)                                                \
  KYMO_C10_TERNARY_KERNELS(NAME, #OUTPUT "_" #INPUT "_" #ALPHA, #INPUT "_" #ALPHA, INPUT, NAME##_functor, \
                           ::c10::metal::opmath_t<INPUT>, ALPHA)

}  // namespace metal
}  // namespace c10
