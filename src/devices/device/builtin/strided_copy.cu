// One thread an element: from its number to its place in either tensor, innermost dimension last.
struct Eight {
  unsigned v[8];
};
__device__ unsigned place_of(unsigned index, const Eight& sizes, const Eight& strides) {
  unsigned place = 0;
  for (int i = 7; i >= 0; --i) {
    place += index % sizes.v[i] * strides.v[i];
    index /= sizes.v[i];
  }
  return place;
}

#define STRIDED_COPY(name, type)                                                                                     \
  extern "C" __global__ void name(const type* from, type* to, Eight sizes, Eight from_strides, Eight to_strides) {  \
    const unsigned index = blockIdx.x * blockDim.x + threadIdx.x;                                                    \
    to[place_of(index, sizes, to_strides)] = from[place_of(index, sizes, from_strides)];                             \
  }
STRIDED_COPY(strided_copy_1, unsigned char)
STRIDED_COPY(strided_copy_2, unsigned short)
STRIDED_COPY(strided_copy_4, unsigned int)
STRIDED_COPY(strided_copy_8, unsigned long long)
