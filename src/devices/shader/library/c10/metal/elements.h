// Elements of tensors: their positions, and their values by offset and type. A part of indexing.h, which includes it.
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

// The same where x of a thread is the first coordinate: the others come from y.
template <typename idx_type>
void pos_from_thread_index(uint2 at, thread idx_type* pos, constant long* sizes, uint ndim) {
  pos[0] = idx_type(at.x);
  idx_type idx = idx_type(at.y);
  for (uint i = 1; i < ndim; ++i) {
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

// The offsets of element number `idx` in several tensors, by their strides. A structure and no array of coordinates:
// Vulkan would need functions for each pointer to a variable.
template <uint N>
struct Offsets {
  long of[N];
};
template <typename... Strides>
Offsets<sizeof...(Strides)> offsets_from_thread_index(uint idx, constant long* sizes, uint ndim, Strides... strides) {
  Offsets<sizeof...(Strides)> offsets = {};
  for (uint i = 0; i < ndim; ++i) {
    const uint size = uint(sizes[i]), pos = idx % size;
    idx /= size;
    uint tensor = 0;
    ((offsets.of[tensor++] += long(pos) * strides[i]), ...);
  }
  return offsets;
}
// The same where x of a thread is the first coordinate: the others come from y.
template <typename... Strides>
Offsets<sizeof...(Strides)> offsets_from_thread_index(uint2 at, constant long* sizes, uint ndim, Strides... strides) {
  Offsets<sizeof...(Strides)> offsets = offsets_from_thread_index(at.y, sizes + 1, ndim - 1, (strides + 1)...);
  uint tensor = 0;
  ((offsets.of[tensor++] += long(at.x) * strides[0]), ...);
  return offsets;
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
    case ScalarType::UInt16:
      return cast_to<T>(val_at_offs<ushort>(ptr, offs));
    case ScalarType::UInt32:
      return cast_to<T>(val_at_offs<uint>(ptr, offs));
    case ScalarType::UInt64:
      return cast_to<T>(val_at_offs<ulong>(ptr, offs));
  }
  return T(0);
}
template <typename T, typename P>
T val_at_offs(P ptr, long offs, uint type) {
  return val_at_offs<T>(ptr, offs, static_cast<ScalarType>(type));
}
template <typename T>
void store_at_offs(device void* ptr, long offs, ScalarType type, T value) {
  switch (type) {
    case ScalarType::Bool:
      ref_at_offs<bool>(ptr, offs) = cast_to<bool>(value);
      break;
    case ScalarType::Byte:
      ref_at_offs<uchar>(ptr, offs) = cast_to<uchar>(value);
      break;
    case ScalarType::Char:
      ref_at_offs<char>(ptr, offs) = cast_to<char>(value);
      break;
    case ScalarType::Short:
      ref_at_offs<short>(ptr, offs) = cast_to<short>(value);
      break;
    case ScalarType::Int:
      ref_at_offs<int>(ptr, offs) = cast_to<int>(value);
      break;
    case ScalarType::Long:
      ref_at_offs<long>(ptr, offs) = cast_to<long>(value);
      break;
    case ScalarType::Half:
      ref_at_offs<half>(ptr, offs) = cast_to<half>(value);
      break;
    case ScalarType::Float:
      ref_at_offs<float>(ptr, offs) = cast_to<float>(value);
      break;
    case ScalarType::BFloat16:
      ref_at_offs<bfloat>(ptr, offs) = cast_to<bfloat>(value);
      break;
    case ScalarType::ComplexHalf:
      ref_at_offs<half2>(ptr, offs) = cast_to<half2>(value);
      break;
    case ScalarType::ComplexFloat:
      ref_at_offs<float2>(ptr, offs) = cast_to<float2>(value);
      break;
    case ScalarType::UInt16:
      ref_at_offs<ushort>(ptr, offs) = cast_to<ushort>(value);
      break;
    case ScalarType::UInt32:
      ref_at_offs<uint>(ptr, offs) = cast_to<uint>(value);
      break;
    case ScalarType::UInt64:
      ref_at_offs<ulong>(ptr, offs) = cast_to<ulong>(value);
      break;
  }
}
template <typename T>
void store_at_offs(device void* ptr, long offs, uint type, T value) {
  store_at_offs<T>(ptr, offs, static_cast<ScalarType>(type), value);
}

}  // namespace metal
}  // namespace c10
