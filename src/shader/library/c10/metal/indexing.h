// Elements of strided tensors by the number of a thread, and the kernels of operations on one and two tensors.
//
//   struct square { template <typename T> T operator()(const T x) { return x * x; } };
//   REGISTER_UNARY_OP(square, float, float);      // kernels square_dense_float_float, square_strided_float_float
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
device T& ref_at_offs(device void* ptr, long offs) {
  return *reinterpret_cast<device T*>(reinterpret_cast<device char*>(ptr) + offs);
}
// Of a type that is known only when it runs.
template <typename T>
T val_at_offs(constant void* ptr, long offs, ScalarType type) {
  switch (type) {
    case ScalarType::Bool:
      return T(val_at_offs<bool>(ptr, offs));
    case ScalarType::Byte:
      return T(val_at_offs<uchar>(ptr, offs));
    case ScalarType::Char:
      return T(val_at_offs<char>(ptr, offs));
    case ScalarType::Short:
      return T(val_at_offs<short>(ptr, offs));
    case ScalarType::Int:
      return T(val_at_offs<int>(ptr, offs));
    case ScalarType::Long:
      return T(val_at_offs<long>(ptr, offs));
    case ScalarType::Half:
      return T(val_at_offs<half>(ptr, offs));
    case ScalarType::Float:
      return T(val_at_offs<float>(ptr, offs));
    case ScalarType::BFloat16:
      return T(val_at_offs<bfloat>(ptr, offs));
  }
  return T(0);
}

// ---- One tensor

template <typename T, typename F>
using result_of = decltype(F()(T()));

template <typename T, typename R, typename F>
kernel void unary_dense(device R* output [[buffer(0)]], constant T* input [[buffer(1)]],
                        uint index [[thread_position_in_grid]]) {
  F f;
  output[index] = R(f(input[index]));
}

template <typename T, typename R, typename F>
kernel void unary_strided(device R* output [[buffer(0)]], constant T* input [[buffer(1)]],
                          constant long* sizes [[buffer(2)]], constant long* input_strides [[buffer(3)]],
                          constant long* output_strides [[buffer(4)]], constant uint& ndim [[buffer(5)]],
                          uint index [[thread_position_in_grid]]) {
  F f;
  uint pos[max_ndim];
  pos_from_thread_index(index, pos, sizes, ndim);
  output[offset_from_coord(pos, output_strides, ndim)] = R(f(input[offset_from_coord(pos, input_strides, ndim)]));
}

#define REGISTER_UNARY_OP(NAME, DTYPE0, DTYPE1)                                                                        \
  template                                                                                                             \
      [[host_name(#NAME "_dense_" #DTYPE1 "_" #DTYPE0)]] kernel void ::c10::metal::unary_dense<DTYPE0, DTYPE1, NAME>(  \
          device DTYPE1 * output, constant DTYPE0 * input, uint index);                                                \
  template [[host_name(#NAME "_strided_" #DTYPE1 "_" #DTYPE0)]] kernel void ::c10::metal::unary_strided<DTYPE0,        \
                                                                                                        DTYPE1, NAME>( \
      device DTYPE1 * output, constant DTYPE0 * input, constant long* sizes, constant long* input_strides,             \
      constant long* output_strides, constant uint& ndim, uint index)

// ---- Two tensors

template <typename T, typename R, typename F>
kernel void binary_dense(device R* out [[buffer(0)]], constant T* input [[buffer(1)]], constant T* other [[buffer(2)]],
                         uint tid [[thread_position_in_grid]]) {
  F f;
  out[tid] = R(f(input[tid], other[tid]));
}

template <typename T, typename R, typename F>
kernel void binary_strided(device R* output [[buffer(0)]], constant T* input [[buffer(1)]],
                           constant T* other [[buffer(2)]], constant long* sizes [[buffer(3)]],
                           constant long* output_strides [[buffer(4)]], constant long* input_strides [[buffer(5)]],
                           constant long* other_strides [[buffer(6)]], constant uint& ndim [[buffer(7)]],
                           uint index [[thread_position_in_grid]]) {
  F f;
  uint pos[max_ndim];
  pos_from_thread_index(index, pos, sizes, ndim);
  const T a = input[offset_from_coord(pos, input_strides, ndim)];
  const T b = other[offset_from_coord(pos, other_strides, ndim)];
  output[offset_from_coord(pos, output_strides, ndim)] = R(f(a, b));
}

#define REGISTER_BINARY_OP(NAME, DTYPEI, DTYPEO)                                                                       \
  template                                                                                                             \
      [[host_name(#NAME "_dense_" #DTYPEO "_" #DTYPEI)]] kernel void ::c10::metal::binary_dense<DTYPEI, DTYPEO, NAME>( \
          device DTYPEO * out, constant DTYPEI * input, constant DTYPEI * other, uint tid);                            \
  template                                                                                                             \
      [[host_name(#NAME "_strided_" #DTYPEO "_" #DTYPEI)]] kernel void ::c10::metal::binary_strided<DTYPEI, DTYPEO,    \
                                                                                                    NAME>(             \
          device DTYPEO * output, constant DTYPEI * input, constant DTYPEI * other, constant long* sizes,              \
          constant long* output_strides, constant long* input_strides, constant long* other_strides,                   \
          constant uint& ndim, uint index)

}  // namespace metal
}  // namespace c10
