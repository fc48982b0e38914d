// Textures over the memory of a tensor. They are read, converted and filtered by this code on every device, so all give
// the same results, and no device needs images of its own. Linear filters use weights of 24 bits; textures have one
// level. A read outside of a texture gives 0, and a write there does nothing.

namespace metal {

enum class access { sample, read, write, read_write };
enum class component { x, y, z, w };

// What the runtime passes: src/devices/device/arguments.cc fills it. Strides are in elements.
struct kymo_texture {
  device uchar* data;
  uint width, height, depth;  // depth: the number of layers of an array
  uint channels;
  uint format;  // the type of the elements: kymo::device::DType
  uint unused;
  long x_stride, y_stride, z_stride, channel_stride;
};

// ---- Elements. Numbers in a texture of floats: 8 and 16 bits stand for 0 to 1 or -1 to 1.

template <typename T> T kymo_texture_element(device const uchar* data, uint format, long at) {
  if constexpr (is_floating_point_v<T>) {
    switch (format) {
      case 1u: return T(((device const half*)data)[at]);
      case 2u: return T(((device const bfloat*)data)[at]);
      case 5u: return T(fmax(float(((device const char*)data)[at]) / 127.0f, -1.0f));
      case 6u: return T(float(data[at]) / 255.0f);
      case 7u: return T(fmax(float(((device const short*)data)[at]) / 32767.0f, -1.0f));
      case 8u: return T(float(((device const ushort*)data)[at]) / 65535.0f);
      default: return T(((device const float*)data)[at]);
    }
  } else if constexpr (is_signed_v<T>) {
    switch (format) {
      case 5u: return T(((device const char*)data)[at]);
      case 7u: return T(((device const short*)data)[at]);
      default: return T(((device const int*)data)[at]);
    }
  } else {
    switch (format) {
      case 6u: return T(data[at]);
      case 8u: return T(((device const ushort*)data)[at]);
      default: return T(((device const uint*)data)[at]);
    }
  }
}

// Numbers that the elements cannot hold become the nearest that they can; NaN becomes 0.
inline float kymo_texture_scaled(float value, float least, float scale) {
  return rint(fmin(fmax(isnan(value) ? 0.0f : value, least), 1.0f) * scale);
}
template <typename T> void kymo_texture_put(device uchar* data, uint format, long at, T value) {
  if constexpr (is_floating_point_v<T>) {
    const float number = float(value);
    switch (format) {
      case 1u: ((device half*)data)[at] = half(number); break;
      case 2u: ((device bfloat*)data)[at] = bfloat(number); break;
      case 5u: ((device char*)data)[at] = char(kymo_texture_scaled(number, -1.0f, 127.0f)); break;
      case 6u: data[at] = uchar(kymo_texture_scaled(number, 0.0f, 255.0f)); break;
      case 7u: ((device short*)data)[at] = short(kymo_texture_scaled(number, -1.0f, 32767.0f)); break;
      case 8u: ((device ushort*)data)[at] = ushort(kymo_texture_scaled(number, 0.0f, 65535.0f)); break;
      default: ((device float*)data)[at] = number; break;
    }
  } else if constexpr (is_signed_v<T>) {
    const int number = int(value);
    switch (format) {
      case 5u: ((device char*)data)[at] = char(clamp(number, -128, 127)); break;
      case 7u: ((device short*)data)[at] = short(clamp(number, -32768, 32767)); break;
      default: ((device int*)data)[at] = number; break;
    }
  } else {
    const uint number = uint(value);
    switch (format) {
      case 6u: data[at] = uchar(min(number, 255u)); break;
      case 8u: ((device ushort*)data)[at] = ushort(min(number, 65535u)); break;
      default: ((device uint*)data)[at] = number; break;
    }
  }
}

// ---- Pixels inside of the texture. Channels that it does not have are 0, and alpha is 1.

inline long kymo_texture_place(kymo_texture t, uint x, uint y, uint z) {
  return long(x) * t.x_stride + long(y) * t.y_stride + long(z) * t.z_stride;
}
template <typename T> vec<T, 4> kymo_texture_pixel(kymo_texture t, uint x, uint y, uint z) {
  const long at = kymo_texture_place(t, x, y, z);
  vec<T, 4> pixel = vec<T, 4>(T(0), T(0), T(0), T(1));
  pixel.x = kymo_texture_element<T>(t.data, t.format, at);
  if (t.channels > 1u) pixel.y = kymo_texture_element<T>(t.data, t.format, at + t.channel_stride);
  if (t.channels > 2u) pixel.z = kymo_texture_element<T>(t.data, t.format, at + 2l * t.channel_stride);
  if (t.channels > 3u) pixel.w = kymo_texture_element<T>(t.data, t.format, at + 3l * t.channel_stride);
  return pixel;
}
inline bool kymo_texture_has(kymo_texture t, uint x, uint y, uint z) {
  return x < t.width && y < t.height && z < t.depth;
}
template <typename T> vec<T, 4> kymo_texture_read(kymo_texture t, uint x, uint y, uint z) {
  if (!kymo_texture_has(t, x, y, z)) return vec<T, 4>(T(0));
  return kymo_texture_pixel<T>(t, x, y, z);
}
template <typename T> void kymo_texture_write(kymo_texture t, vec<T, 4> color, uint x, uint y, uint z) {
  if (!kymo_texture_has(t, x, y, z)) return;
  const long at = kymo_texture_place(t, x, y, z);
  kymo_texture_put<T>(t.data, t.format, at, color.x);
  if (t.channels > 1u) kymo_texture_put<T>(t.data, t.format, at + t.channel_stride, color.y);
  if (t.channels > 2u) kymo_texture_put<T>(t.data, t.format, at + 2l * t.channel_stride, color.z);
  if (t.channels > 3u) kymo_texture_put<T>(t.data, t.format, at + 3l * t.channel_stride, color.w);
}

// ---- Samples

// The place of a coordinate in a dimension by its address mode; -1: the border.
inline int kymo_texture_wrap(int i, int size, uint mode) {
  if (mode == 0u) return clamp(i, 0, size - 1);
  if (mode == 1u) {
    const int rest = i % size;
    return rest < 0 ? rest + size : rest;
  }
  if (mode == 2u) {
    int rest = i % (2 * size);
    if (rest < 0) rest += 2 * size;
    return rest < size ? rest : 2 * size - 1 - rest;
  }
  return i < 0 || i >= size ? -1 : i;
}
template <typename T> vec<T, 4> kymo_texture_border(kymo_texture t, sampler s, uint mode) {
  const uint color = (s.kymo_bits >> 11) & 3u;
  if (mode == 3u) return vec<T, 4>(T(0), T(0), T(0), t.channels == 4u ? T(0) : T(1));
  return vec<T, 4>(vec<T, 3>(color == 2u ? T(1) : T(0)), color == 0u ? T(0) : T(1));
}
template <typename T, int N> vec<T, 4> kymo_texture_fetch(kymo_texture t, sampler s, int x, int y, int z) {
  const uint x_mode = (s.kymo_bits >> 2) & 7u, y_mode = (s.kymo_bits >> 5) & 7u, z_mode = (s.kymo_bits >> 8) & 7u;
  x = kymo_texture_wrap(x, int(t.width), x_mode);
  if (x < 0) return kymo_texture_border<T>(t, s, x_mode);
  if constexpr (N > 1) {
    y = kymo_texture_wrap(y, int(t.height), y_mode);
    if (y < 0) return kymo_texture_border<T>(t, s, y_mode);
  }
  if constexpr (N > 2) {
    z = kymo_texture_wrap(z, int(t.depth), z_mode);
    if (z < 0) return kymo_texture_border<T>(t, s, z_mode);
  }
  return kymo_texture_pixel<T>(t, uint(x), uint(y), uint(z));
}
template <typename T, int N> float4 kymo_texture_row(kymo_texture t, sampler s, int3 at, float weight) {
  const float4 first = float4(kymo_texture_fetch<T, N>(t, s, at.x, at.y, at.z));
  const float4 second = float4(kymo_texture_fetch<T, N>(t, s, at.x + 1, at.y, at.z));
  return first + (second - first) * weight;
}
template <typename T, int N> float4 kymo_texture_plane(kymo_texture t, sampler s, int3 at, float3 weights) {
  const float4 first = kymo_texture_row<T, N>(t, s, at, weights.x);
  if constexpr (N == 1) {
    return first;
  } else {
    const float4 second = kymo_texture_row<T, N>(t, s, at + int3(0, 1, 0), weights.x);
    return first + (second - first) * weights.y;
  }
}
// The coordinates in pixels. So far outside a texture all places are alike, and they fit an int.
inline float3 kymo_texture_coordinates(kymo_texture t, sampler s, float3 at) {
  if ((s.kymo_bits & 1u) == 0u) at = at * float3(float(t.width), float(t.height), float(t.depth));
  return fmin(fmax(at, float3(-1.0e9f)), float3(1.0e9f));
}
template <typename T, int N>
vec<T, 4> kymo_texture_sample(kymo_texture t, sampler s, float3 coordinates, int3 offset, uint layer) {
  const float3 at = kymo_texture_coordinates(t, s, coordinates);
  int3 place = int3(floor(at)) + offset;
  if constexpr (is_floating_point_v<T>) {
    if ((s.kymo_bits & 2u) != 0u) {
      const float3 low = floor(at - 0.5f), weights = (at - 0.5f) - low;
      place = int3(low) + offset;
      if constexpr (N < 3) place.z = int(layer);
      const float4 first = kymo_texture_plane<T, N>(t, s, place, weights);
      if constexpr (N < 3) {
        return vec<T, 4>(first);
      } else {
        const float4 second = kymo_texture_plane<T, N>(t, s, place + int3(0, 0, 1), weights);
        return vec<T, 4>(first + (second - first) * weights.z);
      }
    }
  }
  if constexpr (N < 3) place.z = int(layer);
  return kymo_texture_fetch<T, N>(t, s, place.x, N < 2 ? 0 : place.y, place.z);
}
// The four pixels that a linear filter takes, one component of each: lower left, lower right, upper right, upper left.
template <typename T>
vec<T, 4> kymo_texture_gather(kymo_texture t, sampler s, float2 coordinates, int2 offset, uint layer, component which) {
  const float3 at = kymo_texture_coordinates(t, s, float3(coordinates, 0.0f));
  const int2 place = int2(floor(at.xy - 0.5f)) + offset;
  const int z = int(layer), c = int(which);
  const vec<T, 4> a = kymo_texture_fetch<T, 2>(t, s, place.x, place.y + 1, z);
  const vec<T, 4> b = kymo_texture_fetch<T, 2>(t, s, place.x + 1, place.y + 1, z);
  const vec<T, 4> d = kymo_texture_fetch<T, 2>(t, s, place.x + 1, place.y, z);
  const vec<T, 4> e = kymo_texture_fetch<T, 2>(t, s, place.x, place.y, z);
  return vec<T, 4>(a[c], b[c], d[c], e[c]);
}

// ---- The types

template <typename T, access A>
struct kymo_texture_of {
  static_assert(is_same_v<T, float> || is_same_v<T, half> || is_same_v<T, int> || is_same_v<T, uint> ||
                    is_same_v<T, short> || is_same_v<T, ushort>,
                "a texture is of float, half, int, uint, short or ushort");
  kymo_texture kymo;

  uint get_width(uint = 0u) const { return kymo.width; }
  uint get_num_mip_levels() const { return 1u; }
  void fence() const {}

  vec<T, 4> kymo_read(uint x, uint y, uint z) const {
    static_assert(A != access::write, "this texture is access::write: declare it access::read_write to read it too");
    return kymo_texture_read<T>(kymo, x, y, z);
  }
  void kymo_write(vec<T, 4> color, uint x, uint y, uint z) const {
    static_assert(A == access::write || A == access::read_write,
                  "this texture is read-only: declare it access::write or access::read_write to write to it");
    kymo_texture_write<T>(kymo, color, x, y, z);
  }
  template <int N> vec<T, 4> kymo_sample(sampler s, float3 at, int3 offset, uint layer) const {
    static_assert(A == access::sample, "only a texture with access::sample, the default, can be sampled: use read()");
    return kymo_texture_sample<T, N>(kymo, s, at, offset, layer);
  }
  uint kymo_layer(uint layer) const { return min(layer, kymo.depth - 1u); }
};

template <typename T> bool is_null_texture(T texture) { return texture.kymo.data == nullptr; }

template <typename T, access A = access::sample>
struct texture1d : kymo_texture_of<T, A> {
  vec<T, 4> read(uint at, uint = 0u) const { return this->kymo_read(at, 0u, 0u); }
  void write(vec<T, 4> color, uint at, uint = 0u) const { this->kymo_write(color, at, 0u, 0u); }
  vec<T, 4> sample(sampler s, float at) const {
    return this->template kymo_sample<1>(s, float3(at, 0.0f, 0.0f), int3(0), 0u);
  }
};

template <typename T, access A = access::sample>
struct texture2d : kymo_texture_of<T, A> {
  uint get_height(uint = 0u) const { return this->kymo.height; }
  vec<T, 4> read(uint2 at, uint = 0u) const { return this->kymo_read(at.x, at.y, 0u); }
  vec<T, 4> read(ushort2 at, ushort = 0) const { return this->kymo_read(uint(at.x), uint(at.y), 0u); }
  void write(vec<T, 4> color, uint2 at, uint = 0u) const { this->kymo_write(color, at.x, at.y, 0u); }
  void write(vec<T, 4> color, ushort2 at, ushort = 0) const { this->kymo_write(color, uint(at.x), uint(at.y), 0u); }
  vec<T, 4> sample(sampler s, float2 at, int2 offset = int2(0)) const {
    return this->template kymo_sample<2>(s, float3(at, 0.0f), int3(offset, 0), 0u);
  }
  vec<T, 4> sample(sampler s, float2 at, level, int2 offset = int2(0)) const { return sample(s, at, offset); }
  vec<T, 4> sample(sampler s, float2 at, bias, int2 offset = int2(0)) const { return sample(s, at, offset); }
  vec<T, 4> sample(sampler s, float2 at, min_lod_clamp, int2 offset = int2(0)) const { return sample(s, at, offset); }
  vec<T, 4> sample(sampler s, float2 at, gradient2d, int2 offset = int2(0)) const { return sample(s, at, offset); }
  vec<T, 4> gather(sampler s, float2 at, int2 offset = int2(0), component which = component::x) const {
    return kymo_texture_gather<T>(this->kymo, s, at, offset, 0u, which);
  }
};

template <typename T, access A = access::sample>
struct texture2d_array : kymo_texture_of<T, A> {
  uint get_height(uint = 0u) const { return this->kymo.height; }
  uint get_array_size() const { return this->kymo.depth; }
  vec<T, 4> read(uint2 at, uint layer, uint = 0u) const { return this->kymo_read(at.x, at.y, layer); }
  vec<T, 4> read(ushort2 at, ushort layer, ushort = 0) const {
    return this->kymo_read(uint(at.x), uint(at.y), uint(layer));
  }
  void write(vec<T, 4> color, uint2 at, uint layer, uint = 0u) const { this->kymo_write(color, at.x, at.y, layer); }
  void write(vec<T, 4> color, ushort2 at, ushort layer, ushort = 0) const {
    this->kymo_write(color, uint(at.x), uint(at.y), uint(layer));
  }
  vec<T, 4> sample(sampler s, float2 at, uint layer, int2 offset = int2(0)) const {
    return this->template kymo_sample<2>(s, float3(at, 0.0f), int3(offset, 0), this->kymo_layer(layer));
  }
  vec<T, 4> sample(sampler s, float2 at, uint layer, level, int2 offset = int2(0)) const {
    return sample(s, at, layer, offset);
  }
  vec<T, 4> gather(sampler s, float2 at, uint layer, int2 offset = int2(0), component which = component::x) const {
    return kymo_texture_gather<T>(this->kymo, s, at, offset, this->kymo_layer(layer), which);
  }
};

template <typename T, access A = access::sample>
struct texture3d : kymo_texture_of<T, A> {
  uint get_height(uint = 0u) const { return this->kymo.height; }
  uint get_depth(uint = 0u) const { return this->kymo.depth; }
  vec<T, 4> read(uint3 at, uint = 0u) const { return this->kymo_read(at.x, at.y, at.z); }
  vec<T, 4> read(ushort3 at, ushort = 0) const { return this->kymo_read(uint(at.x), uint(at.y), uint(at.z)); }
  void write(vec<T, 4> color, uint3 at, uint = 0u) const { this->kymo_write(color, at.x, at.y, at.z); }
  void write(vec<T, 4> color, ushort3 at, ushort = 0) const {
    this->kymo_write(color, uint(at.x), uint(at.y), uint(at.z));
  }
  vec<T, 4> sample(sampler s, float3 at, int3 offset = int3(0)) const {
    return this->template kymo_sample<3>(s, at, offset, 0u);
  }
  vec<T, 4> sample(sampler s, float3 at, level, int3 offset = int3(0)) const { return sample(s, at, offset); }
  vec<T, 4> sample(sampler s, float3 at, gradient3d, int3 offset = int3(0)) const { return sample(s, at, offset); }
};

}  // namespace metal
