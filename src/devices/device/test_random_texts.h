// The helpers of random programs (test_random_program.h), in the common subset of Metal and C++, and the prelude that
// makes them valid C++.
#pragma once

#include <string_view>

namespace kymo::device::tests {

// Comes before the programs, in both languages.
inline constexpr std::string_view kRandomHelpers = R"(
struct Pair { int a; uchar b; uint c[3]; };
constant uint kTable[5] = {3u, 1000003u, 0x80000000u, 77u, 0xffffffffu};
constant short kGrid[2][3] = {{1, -2, 300}, {-32768, 32767, 0}};
template <typename T> T pick(uint n, T a, T b) { return n % 3u == 0u ? a : b; }
template <typename T> T over(T a, T b) { return b == T(0) || b == T(-1) ? a : T(a / b); }
template <typename T> T rest(T a, T b) { return b == T(0) || b == T(-1) ? a : T(a % b); }
template <int N> uint turn(uint x) { return x << N | x >> (32 - N); }
inline float tame(float x) { return (x > 1e-6f && x < 1e6f) || (x < -1e-6f && x > -1e6f) ? x : 0.0f; }
inline float near(float x) { return x > -30000.0f && x < 30000.0f ? x : 7.5f; }
inline half mild(float x) { return half(x > -200.0f && x < 200.0f ? x : 1.5f); }
inline float4 tame(float4 v) { return float4(tame(v.x), tame(v.y), tame(v.z), tame(v.w)); }
inline void stir(thread uint& x, uint by) { x ^= by; x *= 0x9e3779b1u; x ^= x >> 15; }
inline void shake(thread Pair& p, uint n) { p.a ^= int(n); p.c[n % 3u] += uint(p.b); p.b = uchar(p.b * 3u + n); }
inline Pair mixed(Pair p, uint n) { p.a = int(uint(p.a) + n); p.c[n % 3u] ^= n; p.b += uchar(n); return p; }
inline Pair made(int a, uint c) { return Pair{a, uchar(c), {c, uint(a), c ^ uint(a)}}; }
)";

// Comes before the helpers, one for each language. Swizzles are functions in C++.
inline constexpr std::string_view kRandomMetalPrelude = R"(
#define SWIZZLE(v, which) (v).which
#define SET_SWIZZLE(v, which, to) (v).which = (to)
)";

inline constexpr std::string_view kRandomHostPrelude = R"(
#include <cstring>
#include <type_traits>
typedef unsigned int uint; typedef unsigned long ulong; typedef unsigned short ushort; typedef unsigned char uchar;
#define kernel extern "C"
#define device
#define thread
#define constant static const
#define SWIZZLE(v, which) (v).which()
#define SET_SWIZZLE(v, which, to) (v).set_##which(to)
template <typename To, typename From> To as_type(From from) { To to; static_assert(sizeof to == sizeof from); std::memcpy(&to, &from, sizeof to); return to; }

template <typename T> struct Two { T x, y; };
template <typename T> struct Four {
  T x, y, z, w;
  explicit Four(T all) : x(all), y(all), z(all), w(all) {}
  Four(T a, T b, T c, T d) : x(a), y(b), z(c), w(d) {}
  template <typename U> explicit Four(Four<U> o) : x(T(o.x)), y(T(o.y)), z(T(o.z)), w(T(o.w)) {}
  T& operator[](uint i) { return i == 0 ? x : i == 1 ? y : i == 2 ? z : w; }
  Four wzyx() const { return {w, z, y, x}; }
  Four yxxw() const { return {y, x, x, w}; }
  Two<T> yw() const { return {y, w}; }
  Two<T> zy() const { return {z, y}; }
  void set_xz(Two<T> o) { x = o.x; z = o.y; }
  void set_wx(Two<T> o) { w = o.x; x = o.y; }
};
template <typename T> using Wide = std::conditional_t<std::is_floating_point_v<T>, T, uint>;
#define EACH(op) template <typename T> Four<T> operator op(Four<T> a, Four<T> b) { \
  using W = Wide<T>; return {T(W(a.x) op W(b.x)), T(W(a.y) op W(b.y)), T(W(a.z) op W(b.z)), T(W(a.w) op W(b.w))}; }
EACH(+) EACH(-) EACH(*) EACH(/) EACH(&) EACH(|) EACH(^)
template <typename T> Four<bool> operator<(Four<T> a, Four<T> b) { return {a.x < b.x, a.y < b.y, a.z < b.z, a.w < b.w}; }
inline bool any(Four<bool> b) { return b.x || b.y || b.z || b.w; }
inline bool all(Four<bool> b) { return b.x && b.y && b.z && b.w; }
typedef Four<uint> uint4; typedef Four<short> short4; typedef Four<uchar> uchar4; typedef Four<float> float4;

// To the nearest, of floats that are not too large; ties to the even one.
struct half {
  ushort bits;
  explicit half(float x) {
    const uint all = as_type<uint>(x), sign = all >> 16 & 0x8000u, rest = all & 0x7fffffffu;
    if (rest >= 0x38800000u) { bits = ushort(sign | (rest + 0xfffu + (rest >> 13 & 1u) - 0x38000000u) >> 13); return; }
    const uint steps = as_type<uint>(as_type<float>(rest) + 0.5f) - 0x3f000000u;
    bits = ushort(sign | steps);
  }
  explicit operator float() const {
    const uint sign = uint(bits & 0x8000u) << 16, rest = bits & 0x7fffu;
    if (rest >= 0x400u) return as_type<float>(sign | ((rest << 13) + 0x38000000u));
    return as_type<float>(sign | as_type<uint>(float(rest) * 5.9604645e-08f));
  }
};
inline half operator+(half a, half b) { return half(float(a) + float(b)); }
inline half operator-(half a, half b) { return half(float(a) - float(b)); }
inline half operator*(half a, half b) { return half(float(a) * float(b)); }
inline half operator/(half a, half b) { return half(float(a) / float(b)); }
inline bool operator<(half a, half b) { return float(a) < float(b); }
)";

}  // namespace kymo::device::tests
