// Names that headers use instead of the functions of namespace metal. The translator knows __metal_NAME for each of its
// own functions NAME, with or without the last argument, which allows fast math; here are those that are written in
// Metal.

constant constexpr bool __METAL_MAYBE_FAST_MATH__ = false;
constant constexpr bool __METAL_FAST_MATH__ = false;
constant constexpr bool __METAL_PRECISE_MATH__ = false;

namespace metal {
// Has the same value in all threads of a simdgroup.
template <typename T> using uniform = T;
template <typename T> T make_uniform(T value) { return value; }

// Messages of kernels are accepted and dropped: <c10/metal/error.h> has messages that reach the host.
struct os_log {
  constexpr os_log(constant char* subsystem, constant char* category) {}
  template <typename... Values> void log(constant char* format, Values... values) const {}
  template <typename... Values> void log_debug(constant char* format, Values... values) const {}
  template <typename... Values> void log_info(constant char* format, Values... values) const {}
  template <typename... Values> void log_error(constant char* format, Values... values) const {}
  template <typename... Values> void log_fault(constant char* format, Values... values) const {}
};
constant constexpr os_log os_log_default("", "");
}  // namespace metal

template <typename T> T __metal_simd_shuffle(T value, ushort lane) { return metal::simd_shuffle(value, lane); }
template <typename T> T __metal_simd_shuffle_xor(T value, ushort lane) { return metal::simd_shuffle_xor(value, lane); }
template <typename T> T __metal_simd_shuffle_up(T value, ushort lane) { return metal::simd_shuffle_up(value, lane); }
template <typename T> T __metal_simd_shuffle_down(T value, ushort lane) { return metal::simd_shuffle_down(value, lane); }
template <typename T> T __metal_simd_shuffle_rotate_up(T value, ushort lane) { return metal::simd_shuffle_rotate_up(value, lane); }
template <typename T> T __metal_simd_shuffle_rotate_down(T value, ushort lane) { return metal::simd_shuffle_rotate_down(value, lane); }
template <typename T> T __metal_simd_broadcast(T value, ushort lane) { return metal::simd_broadcast(value, lane); }
template <typename T> T __metal_quad_shuffle(T value, ushort lane) { return metal::quad_shuffle(value, lane); }
template <typename T> T __metal_quad_shuffle_xor(T value, ushort lane) { return metal::quad_shuffle_xor(value, lane); }
template <typename T> T __metal_quad_shuffle_up(T value, ushort lane) { return metal::quad_shuffle_up(value, lane); }
template <typename T> T __metal_quad_shuffle_down(T value, ushort lane) { return metal::quad_shuffle_down(value, lane); }
template <typename T> T __metal_quad_shuffle_rotate_up(T value, ushort lane) { return metal::quad_shuffle_rotate_up(value, lane); }
template <typename T> T __metal_quad_shuffle_rotate_down(T value, ushort lane) { return metal::quad_shuffle_rotate_down(value, lane); }
template <typename T> T __metal_quad_broadcast(T value, ushort lane) { return metal::quad_broadcast(value, lane); }
template <typename T> T __metal_simd_shuffle_and_fill_up(T value, T fill, ushort delta, ushort modulo = 32) {
  return metal::simd_shuffle_and_fill_up(value, fill, delta, modulo);
}
template <typename T> T __metal_simd_shuffle_and_fill_down(T value, T fill, ushort delta, ushort modulo = 32) {
  return metal::simd_shuffle_and_fill_down(value, fill, delta, modulo);
}
template <typename T> T __metal_simd_broadcast_first(T value) { return metal::simd_broadcast_first(value); }
template <typename T> T __metal_quad_broadcast_first(T value) { return metal::quad_broadcast_first(value); }
template <typename T> T __metal_quad_sum(T value) { return metal::quad_sum(value); }
template <typename T> T __metal_quad_product(T value) { return metal::quad_product(value); }
template <typename T> T __metal_quad_min(T value) { return metal::quad_min(value); }
template <typename T> T __metal_quad_max(T value) { return metal::quad_max(value); }
template <typename T> T __metal_quad_and(T value) { return metal::quad_and(value); }
template <typename T> T __metal_quad_or(T value) { return metal::quad_or(value); }
template <typename T> T __metal_quad_xor(T value) { return metal::quad_xor(value); }
inline metal::simd_vote __metal_simd_ballot(bool vote) { return metal::simd_ballot(vote); }
inline bool __metal_simd_all(bool vote) { return metal::simd_all(vote); }
inline bool __metal_simd_any(bool vote) { return metal::simd_any(vote); }
inline ushort __metal_get_simdgroup_size(ushort) { return 32; }
inline uint __metal_get_simdgroup_size(uint) { return 32; }
inline void assert(bool) {}  // as in Metal, unless a debugger asks for it
constexpr int __builtin_clz(uint value) { return int(metal::clz(value)); }
constexpr int __builtin_ctz(uint value) { return int(metal::ctz(value)); }
constexpr int __builtin_popcount(uint value) { return int(metal::popcount(value)); }
