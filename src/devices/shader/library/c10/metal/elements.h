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

// Each ScalarType, and its elements.
#define KYMO_C10_FOR_EACH_TYPE(MACRO) \
  MACRO(Bool, bool)                   \
  MACRO(Byte, uchar)                  \
  MACRO(Char, char)                   \
  MACRO(Short, short)                 \
  MACRO(Int, int)                     \
  MACRO(Long, long)                   \
  MACRO(Half, half)                   \
  MACRO(Float, float)                 \
  MACRO(BFloat16, bfloat)             \
  MACRO(ComplexHalf, half2)           \
  MACRO(ComplexFloat, float2)         \
  MACRO(UInt16, ushort)               \
  MACRO(UInt32, uint)                 \
  MACRO(UInt64, ulong)

// Of a type that is known only when it runs.
template <typename T, typename P>
T val_at_offs(P ptr, long offs, ScalarType type) {
  switch (type) {
#define KYMO_C10_LOAD(NAME, TYPE) \
  case ScalarType::NAME:          \
    return cast_to<T>(val_at_offs<TYPE>(ptr, offs));
    KYMO_C10_FOR_EACH_TYPE(KYMO_C10_LOAD)
#undef KYMO_C10_LOAD
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
#define KYMO_C10_STORE(NAME, TYPE)                       \
  case ScalarType::NAME:                                 \
    ref_at_offs<TYPE>(ptr, offs) = cast_to<TYPE>(value); \
    break;
    KYMO_C10_FOR_EACH_TYPE(KYMO_C10_STORE)
#undef KYMO_C10_STORE
  }
}
template <typename T>
void store_at_offs(device void* ptr, long offs, uint type, T value) {
  store_at_offs<T>(ptr, offs, static_cast<ScalarType>(type), value);
}
#undef KYMO_C10_FOR_EACH_TYPE

}  // namespace metal
}  // namespace c10
