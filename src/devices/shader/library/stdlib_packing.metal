// Colors and normalized numbers in the bits of an integer. x is in the lowest bits. Halfs are computed in float.

namespace metal {

inline uint kymo_unorm(float x, float scale) { return uint(rint(saturate(x) * scale)); }
inline uint kymo_snorm(float x, float scale) {
  return x != x ? 0u : uint(int(rint(clamp(x, -1.0f, 1.0f) * scale))) & ((uint(scale) << 1) | 1u);
}
inline float kymo_to_srgb(float x) { return x <= 0.0031308f ? 12.92f * x : fma(1.055f, pow(x, 1.0f / 2.4f), -0.055f); }
inline float kymo_from_srgb(float x) { return x <= 0.04045f ? x / 12.92f : pow((x + 0.055f) / 1.055f, 2.4f); }

inline uint pack_float_to_unorm4x8(float4 v) {
  return kymo_unorm(v.x, 255.0f) | (kymo_unorm(v.y, 255.0f) << 8) | (kymo_unorm(v.z, 255.0f) << 16) |
         (kymo_unorm(v.w, 255.0f) << 24);
}
inline uint pack_float_to_snorm4x8(float4 v) {
  return kymo_snorm(v.x, 127.0f) | (kymo_snorm(v.y, 127.0f) << 8) | (kymo_snorm(v.z, 127.0f) << 16) |
         (kymo_snorm(v.w, 127.0f) << 24);
}
inline uint pack_float_to_srgb_unorm4x8(float4 v) {
  const float4 c = saturate(v);
  return pack_float_to_unorm4x8(float4(kymo_to_srgb(c.x), kymo_to_srgb(c.y), kymo_to_srgb(c.z), c.w));
}
inline uint pack_float_to_unorm2x16(float2 v) { return kymo_unorm(v.x, 65535.0f) | (kymo_unorm(v.y, 65535.0f) << 16); }
inline uint pack_float_to_snorm2x16(float2 v) { return kymo_snorm(v.x, 32767.0f) | (kymo_snorm(v.y, 32767.0f) << 16); }
inline uint pack_float_to_unorm10a2(float4 v) {
  return kymo_unorm(v.x, 1023.0f) | (kymo_unorm(v.y, 1023.0f) << 10) | (kymo_unorm(v.z, 1023.0f) << 20) |
         (kymo_unorm(v.w, 3.0f) << 30);
}
inline ushort pack_float_to_unorm565(float3 v) {
  return ushort(kymo_unorm(v.x, 31.0f) | (kymo_unorm(v.y, 63.0f) << 5) | (kymo_unorm(v.z, 31.0f) << 11));
}
inline uint pack_half_to_unorm4x8(half4 v) { return pack_float_to_unorm4x8(float4(v)); }
inline uint pack_half_to_snorm4x8(half4 v) { return pack_float_to_snorm4x8(float4(v)); }
inline uint pack_half_to_srgb_unorm4x8(half4 v) { return pack_float_to_srgb_unorm4x8(float4(v)); }
inline uint pack_half_to_unorm2x16(half2 v) { return pack_float_to_unorm2x16(float2(v)); }
inline uint pack_half_to_snorm2x16(half2 v) { return pack_float_to_snorm2x16(float2(v)); }
inline uint pack_half_to_unorm10a2(half4 v) { return pack_float_to_unorm10a2(float4(v)); }
inline ushort pack_half_to_unorm565(half3 v) { return pack_float_to_unorm565(float3(v)); }

inline float4 unpack_unorm4x8_to_float(uint v) {
  return float4(float(v & 0xffu), float((v >> 8) & 0xffu), float((v >> 16) & 0xffu), float(v >> 24)) / 255.0f;
}
inline float4 unpack_snorm4x8_to_float(uint v) {
  const float4 r = float4(float(char(v)), float(char(v >> 8)), float(char(v >> 16)), float(char(v >> 24))) / 127.0f;
  return max(r, float4(-1.0f));
}
inline float4 unpack_unorm4x8_srgb_to_float(uint v) {
  const float4 c = unpack_unorm4x8_to_float(v);
  return float4(kymo_from_srgb(c.x), kymo_from_srgb(c.y), kymo_from_srgb(c.z), c.w);
}
inline float2 unpack_unorm2x16_to_float(uint v) { return float2(float(v & 0xffffu), float(v >> 16)) / 65535.0f; }
inline float2 unpack_snorm2x16_to_float(uint v) {
  return max(float2(float(short(v)), float(short(v >> 16))) / 32767.0f, float2(-1.0f));
}
inline float4 unpack_unorm10a2_to_float(uint v) {
  return float4(float(v & 1023u), float((v >> 10) & 1023u), float((v >> 20) & 1023u), float(v >> 30)) /
         float4(1023.0f, 1023.0f, 1023.0f, 3.0f);
}
inline float3 unpack_unorm565_to_float(ushort v) {
  const uint bits = v;
  return float3(float(bits & 31u), float((bits >> 5) & 63u), float(bits >> 11)) / float3(31.0f, 63.0f, 31.0f);
}
inline half4 unpack_unorm4x8_to_half(uint v) { return half4(unpack_unorm4x8_to_float(v)); }
inline half4 unpack_snorm4x8_to_half(uint v) { return half4(unpack_snorm4x8_to_float(v)); }
inline half4 unpack_unorm4x8_srgb_to_half(uint v) { return half4(unpack_unorm4x8_srgb_to_float(v)); }
inline half2 unpack_unorm2x16_to_half(uint v) { return half2(unpack_unorm2x16_to_float(v)); }
inline half2 unpack_snorm2x16_to_half(uint v) { return half2(unpack_snorm2x16_to_float(v)); }
inline half4 unpack_unorm10a2_to_half(uint v) { return half4(unpack_unorm10a2_to_float(v)); }
inline half3 unpack_unorm565_to_half(ushort v) { return half3(unpack_unorm565_to_float(v)); }

}  // namespace metal
