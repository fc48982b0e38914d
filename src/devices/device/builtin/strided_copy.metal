#include <metal_stdlib>
using namespace metal;

struct Layout {
  uint sizes[8], from[8], to[8];  // outermost dimension first; the strides are in elements
};

// One thread for each element: from its number to its place in either tensor, innermost dimension first.
template <typename T>
[[kernel]] void strided_copy(device const uchar* from [[buffer(0)]], device uchar* to [[buffer(1)]],
                             constant Layout& layout [[buffer(2)]], uint index [[thread_position_in_grid]]) {
  uint from_place = 0, to_place = 0;
  for (int i = 7; i >= 0; --i) {
    const uint at = index % layout.sizes[i];
    index /= layout.sizes[i];
    from_place += at * layout.from[i];
    to_place += at * layout.to[i];
  }
  ((device T*)to)[to_place] = ((device const T*)from)[from_place];
}

#define STRIDED_COPY(NAME, TYPE)                                                                                   \
  template [[host_name(NAME)]] [[kernel]] void strided_copy<TYPE>(device const uchar*, device uchar*,              \
                                                                  constant Layout&, uint);
STRIDED_COPY("strided_copy_1", uchar)
STRIDED_COPY("strided_copy_2", ushort)
STRIDED_COPY("strided_copy_4", uint)
STRIDED_COPY("strided_copy_8", ulong)
