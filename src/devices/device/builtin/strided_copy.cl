// One thread an element: from its number to its place in either tensor, innermost dimension last.
uint place_of(uint index, const uint* sizes, const uint* strides) {
  uint place = 0;
  for (int i = 7; i >= 0; --i) {
    place += index % sizes[i] * strides[i];
    index /= sizes[i];
  }
  return place;
}

#define STRIDED_COPY(name, type)                                                                                 \
  __kernel void name(__global const type* from, __global type* to, uint8 sizes, uint8 from_strides, uint8 to_strides) { \
    uint size[8], stride[8];                                                                                     \
    vstore8(sizes, 0, size);                                                                                     \
    const uint index = (uint)get_global_id(0);                                                                   \
    vstore8(from_strides, 0, stride);                                                                            \
    const type value = from[place_of(index, size, stride)];                                                      \
    vstore8(to_strides, 0, stride);                                                                              \
    to[place_of(index, size, stride)] = value;                                                                   \
  }
STRIDED_COPY(strided_copy_1, uchar)
STRIDED_COPY(strided_copy_2, ushort)
STRIDED_COPY(strided_copy_4, uint)
STRIDED_COPY(strided_copy_8, ulong)
