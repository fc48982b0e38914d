// Samplers: how a texture is read between its pixels and outside of its edges. A sampler is one number, so that it is
// known when the source is translated, and can be a kernel's argument. include/kymo/shader.h makes the same number.
//
//   bit 0      coordinates in pixels
//   bit 1      linear
//   bits 2-4   address mode of x, bits 5-7 of y, bits 8-10 of z
//   bits 11-12 border color

namespace metal {

// The value of a setting is its bits.
enum class coord : uint { normalized = 0, pixel = 1 };
enum class filter : uint { nearest = 0, linear = 2 };
enum class mag_filter : uint { nearest = 0, linear = 2 };
enum class min_filter : uint { nearest = 0, linear = 2 };
enum class mip_filter : uint { none = 0, nearest = 0, linear = 0 };  // a texture has one level
enum class address : uint {
  clamp_to_edge = 0,
  repeat = 0x124,
  mirrored_repeat = 0x248,
  clamp_to_zero = 0x36c,
  clamp_to_border = 0x490
};
enum class s_address : uint {
  clamp_to_edge = 0,
  repeat = 0x4,
  mirrored_repeat = 0x8,
  clamp_to_zero = 0xc,
  clamp_to_border = 0x10
};
enum class t_address : uint {
  clamp_to_edge = 0,
  repeat = 0x20,
  mirrored_repeat = 0x40,
  clamp_to_zero = 0x60,
  clamp_to_border = 0x80
};
enum class r_address : uint {
  clamp_to_edge = 0,
  repeat = 0x100,
  mirrored_repeat = 0x200,
  clamp_to_zero = 0x300,
  clamp_to_border = 0x400
};
enum class border_color : uint { transparent_black = 0, opaque_black = 0x800, opaque_white = 0x1000 };
// Only textures of depth are compared.
enum class compare_func : uint {
  none = 0,
  never = 0,
  less = 0,
  less_equal = 0,
  greater = 0,
  greater_equal = 0,
  equal = 0,
  not_equal = 0,
  always = 0
};

struct max_anisotropy {
  constexpr explicit max_anisotropy(int) {}
  constexpr explicit operator uint() const { return 0u; }
};
struct lod_clamp {
  constexpr lod_clamp(float, float) {}
  constexpr explicit operator uint() const { return 0u; }
};

struct sampler {
  uint kymo_bits;

  template <typename... Settings>
  constexpr sampler(Settings... settings) : kymo_bits((uint(settings) | ... | 0u)) {}
  constexpr explicit operator uint() const { return kymo_bits; }
};

// Which level to sample: there is only one.
struct level {
  explicit level(float) {}
};
struct bias {
  explicit bias(float) {}
};
struct min_lod_clamp {
  explicit min_lod_clamp(float) {}
};
struct gradient2d {
  gradient2d(float2, float2) {}
};
struct gradient3d {
  gradient3d(float3, float3) {}
};

}  // namespace metal
