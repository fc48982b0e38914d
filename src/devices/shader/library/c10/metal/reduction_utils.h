// Sums, products, extremes over a simdgroup and over a group.
//
// The functions for a group take group memory with room for one value a simdgroup (32 at most), the thread's index in
// the group and the number of threads; all threads of the group must call them, and all get the result.
#pragma once
#include <c10/metal/utils.h>

#include <metal_stdlib>

namespace c10 {
namespace metal {

// ---- A simdgroup

template <typename T>
T simd_sum(T val) {
  return T(::metal::simd_sum(val));
}

template <typename T>
T simd_prod(T val) {
  if constexpr (is_complex_v<T>) {
    const uint there = uint(::metal::simd_vote::vote_t(::metal::simd_active_threads_mask()));
    for (ushort mask = 16; mask > 0; mask /= 2) {
      const T other = ::metal::simd_shuffle_xor(val, mask);
      if ((there & (1u << (::metal::kymo_lane() ^ uint(mask)))) != 0u) val = c10::metal::mul(val, other);
    }
    return val;
  } else {
    return T(::metal::simd_product(val));
  }
}

template <typename T>
T simd_broadcast(T val, ushort lane) {
  return ::metal::simd_broadcast(val, lane);
}

// What is not a number wins.
template <typename T>
T simd_max(T val) {
  if constexpr (::metal::is_floating_point_v<T>)
    return ::metal::simd_any(::metal::isnan(val)) ? T(NAN) : T(::metal::simd_max(::metal::isnan(val) ? T(0) : val));
  else
    return T(::metal::simd_max(val));
}
template <typename T>
T simd_min(T val) {
  if constexpr (::metal::is_floating_point_v<T>)
    return ::metal::simd_any(::metal::isnan(val)) ? T(NAN) : T(::metal::simd_min(::metal::isnan(val) ? T(0) : val));
  else
    return T(::metal::simd_min(val));
}

namespace detail {
inline ushort first_lane(bool here) {
  return ushort(::metal::ctz(uint(::metal::simd_vote::vote_t(::metal::simd_ballot(here)))));
}
template <typename I>
I least_index(bool here, I index) {
  return I(::metal::simd_min(here ? index : ::metal::numeric_limits<I>::max()));
}
template <typename T>
bool is_nan_or(T value, T extreme) {
  if constexpr (::metal::is_floating_point_v<T>)
    return ::metal::isnan(extreme) ? ::metal::isnan(value) : value == extreme;
  else
    return value == extreme;
}
}  // namespace detail

// The extreme and the first lane that has it.
template <typename T>
pair<T, ushort> simd_argmax(T val) {
  const T most = c10::metal::simd_max(val);
  const ushort lane = detail::first_lane(detail::is_nan_or(val, most));
  return pair<T, ushort>{most, lane};
}
template <typename T>
pair<T, ushort> simd_argmin(T val) {
  const T least = c10::metal::simd_min(val);
  const ushort lane = detail::first_lane(detail::is_nan_or(val, least));
  return pair<T, ushort>{least, lane};
}

// The extreme and the least index of the lanes that have it.
template <typename T, typename I>
pair<T, I> simd_argmax(T val, I index) {
  const T most = c10::metal::simd_max(val);
  return pair<T, I>{most, detail::least_index(detail::is_nan_or(val, most), index)};
}
template <typename T, typename I>
pair<T, I> simd_argmin(T val, I index) {
  const T least = c10::metal::simd_min(val);
  return pair<T, I>{least, detail::least_index(detail::is_nan_or(val, least), index)};
}

// ---- A group

namespace detail {

// Each simdgroup has its part; everybody puts the parts together, in their order.
template <typename T, typename F>
T combine_parts(threadgroup T* data, T part, unsigned idx, unsigned size, F combine) {
  if (idx % simdgroup_size == 0) data[idx / simdgroup_size] = part;
  ::metal::threadgroup_barrier(::metal::mem_flags::mem_threadgroup);
  const unsigned parts = (size + simdgroup_size - 1) / simdgroup_size;
  T result = data[0];
  for (unsigned i = 1; i < parts; ++i) result = combine(result, data[i]);
  ::metal::threadgroup_barrier(::metal::mem_flags::mem_threadgroup);
  return result;
}

}  // namespace detail

template <typename T, typename A = opmath_t<T>>
A threadgroup_sum(threadgroup A* data, T val, unsigned idx, unsigned size) {
  return detail::combine_parts(data, c10::metal::simd_sum(static_cast<A>(val)), idx, size,
                               [](A a, A b) { return a + b; });
}
template <typename T, typename A = opmath_t<T>>
A threadgroup_prod(threadgroup A* data, T val, unsigned idx, unsigned size) {
  return detail::combine_parts(data, c10::metal::simd_prod(static_cast<A>(val)), idx, size,
                               [](A a, A b) { return c10::metal::mul(a, b); });
}
template <typename T>
T threadgroup_max(threadgroup T* data, T val, unsigned idx, unsigned size) {
  return detail::combine_parts(data, c10::metal::simd_max(val), idx, size,
                               [](T a, T b) { return c10::metal::max(a, b); });
}
template <typename T>
T threadgroup_min(threadgroup T* data, T val, unsigned idx, unsigned size) {
  return detail::combine_parts(data, c10::metal::simd_min(val), idx, size,
                               [](T a, T b) { return c10::metal::min(a, b); });
}

namespace detail {
template <bool Maximum, typename T, typename I>
I group_arg(threadgroup T* values, threadgroup I* indices, T val, I index, unsigned idx, unsigned size) {
  const T extreme = Maximum ? c10::metal::simd_max(val) : c10::metal::simd_min(val);
  const I at = least_index(is_nan_or(val, extreme), index);
  if (idx % simdgroup_size == 0) {
    values[idx / simdgroup_size] = extreme;
    indices[idx / simdgroup_size] = at;
  }
  ::metal::threadgroup_barrier(::metal::mem_flags::mem_threadgroup);
  const unsigned parts = (size + simdgroup_size - 1) / simdgroup_size;
  T best = values[0];
  I where = indices[0];
  for (unsigned i = 1; i < parts; ++i) {
    const T better = Maximum ? c10::metal::max(best, values[i]) : c10::metal::min(best, values[i]);
    const bool is_old = is_nan_or(best, better), is_new = is_nan_or(values[i], better);
    if (!is_old || (is_new && indices[i] < where)) where = indices[i];
    best = better;
  }
  ::metal::threadgroup_barrier(::metal::mem_flags::mem_threadgroup);
  return where;
}
}  // namespace detail

// Where in the group's values the extreme is: `index` is the place of `val`. The least index, if several have it.
template <typename T, typename I>
I threadgroup_argmax(threadgroup T* values, threadgroup I* indices, T val, I index, unsigned idx, unsigned size) {
  return detail::group_arg<true>(values, indices, val, index, idx, size);
}
template <typename T, typename I>
I threadgroup_argmin(threadgroup T* values, threadgroup I* indices, T val, I index, unsigned idx, unsigned size) {
  return detail::group_arg<false>(values, indices, val, index, idx, size);
}

// ---- Reductions as types: their operation, and its value for no elements. replace() says whether an element is a new
// extreme: what is not a number is one, but the first one stays.

namespace detail {
template <typename T>
bool is_extreme(T val, T old, bool is_better) {
  if constexpr (::metal::is_floating_point_v<T>)
    return !::metal::isnan(old) && (::metal::isnan(val) || is_better);
  else
    return is_better;
}
template <typename T>
T highest() {
  if constexpr (::metal::is_floating_point_v<T>)
    return T(INFINITY);
  else
    return ::metal::numeric_limits<T>::max();
}
template <typename T>
T least() {
  if constexpr (::metal::is_floating_point_v<T>)
    return T(-INFINITY);
  else
    return ::metal::numeric_limits<T>::lowest();
}
}  // namespace detail

template <typename T>
struct SumOp {
  static T identity() { return T(0); }
  static T combine(T a, T b) { return a + b; }
  static T simd_reduce(T val) { return c10::metal::simd_sum(val); }
  static T threadgroup_reduce(threadgroup T* data, T val, unsigned idx, unsigned size) {
    return c10::metal::threadgroup_sum(data, val, idx, size);
  }
};
template <typename T>
struct ProdOp {
  static T identity() { return cast_to<T>(1); }
  static T combine(T a, T b) { return c10::metal::mul(a, b); }
  static T simd_reduce(T val) { return c10::metal::simd_prod(val); }
  static T threadgroup_reduce(threadgroup T* data, T val, unsigned idx, unsigned size) {
    return c10::metal::threadgroup_prod(data, val, idx, size);
  }
};
template <typename T>
struct MaxOp {
  static T identity() { return detail::least<T>(); }
  static T combine(T a, T b) { return c10::metal::max(a, b); }
  static T simd_reduce(T val) { return c10::metal::simd_max(val); }
  static T threadgroup_reduce(threadgroup T* data, T val, unsigned idx, unsigned size) {
    return c10::metal::threadgroup_max(data, val, idx, size);
  }
  static bool replace(T val, T old) { return detail::is_extreme(val, old, val > old); }
};
template <typename T>
struct MinOp {
  static T identity() { return detail::highest<T>(); }
  static T combine(T a, T b) { return c10::metal::min(a, b); }
  static T simd_reduce(T val) { return c10::metal::simd_min(val); }
  static T threadgroup_reduce(threadgroup T* data, T val, unsigned idx, unsigned size) {
    return c10::metal::threadgroup_min(data, val, idx, size);
  }
  static bool replace(T val, T old) { return detail::is_extreme(val, old, val < old); }
};

// ---- Means and variances: {mean, sum of squared distances from it, count}. What other threads wrote to `data` is
// seen.

template <typename T>
float3 welford_combine(T a, T b) {
  const float delta = b.x - a.x, count = a.z + b.z;
  const float part = count == 0.0f ? 0.0f : b.z / count;
  return float3(a.x + delta * part, a.y + b.y + delta * delta * a.z * part, count);
}

template <typename T>
float3 threadgroup_welford_reduce(threadgroup T* data, unsigned size) {
  ::metal::threadgroup_barrier(::metal::mem_flags::mem_threadgroup);
  float mean = 0.0f, squares = 0.0f;
  for (unsigned i = 0; i < size; ++i) {
    const float value = float(data[i]), delta = value - mean;
    mean += delta / float(i + 1);
    squares += delta * (value - mean);
  }
  return float3(mean, squares, float(size));
}

template <typename T>
float3 threadgroup_welford_combine(threadgroup T* data, unsigned size) {
  ::metal::threadgroup_barrier(::metal::mem_flags::mem_threadgroup);
  float3 all = data[0];
  for (unsigned i = 1; i < size; ++i) all = welford_combine(all, float3(data[i]));
  return all;
}

// ---- Running sums and products

template <typename T>
T simd_cumsum(T val) {
  return T(::metal::simd_prefix_inclusive_sum(val));
}
template <typename T>
T simd_cumprod(T val) {
  return T(::metal::simd_prefix_inclusive_product(val));
}

// `running` is that of the simdgroup.
template <typename A, typename F>
A combine_with_before(threadgroup A* data, A running, A before, unsigned idx, unsigned size, F combine) {
  const bool is_last = idx % simdgroup_size == simdgroup_size - 1 || idx + 1 == size;
  if (is_last) data[idx / simdgroup_size] = running;
  ::metal::threadgroup_barrier(::metal::mem_flags::mem_threadgroup);
  for (unsigned i = 0; i < idx / simdgroup_size; ++i) before = combine(before, data[i]);
  ::metal::threadgroup_barrier(::metal::mem_flags::mem_threadgroup);
  return combine(before, running);
}
template <typename T, typename A = opmath_t<T>>
A threadgroup_cumsum(threadgroup A* data, T val, unsigned idx, unsigned size) {
  const A running = simd_cumsum(static_cast<A>(val));
  return combine_with_before(data, running, A(0), idx, size, [](A a, A b) { return a + b; });
}
template <typename T, typename A = opmath_t<T>>
A threadgroup_cumprod(threadgroup A* data, T val, unsigned idx, unsigned size) {
  const A running = simd_cumprod(static_cast<A>(val));
  return combine_with_before(data, running, A(1), idx, size, [](A a, A b) { return a * b; });
}

}  // namespace metal
}  // namespace c10
