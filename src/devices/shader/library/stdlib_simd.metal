// A simdgroup has 32 threads everywhere; the last one of a group may have fewer. Written over two operations: the value
// of another lane, and a bit for each lane.

namespace metal {

struct simd_vote {
  using vote_t = ulong;
  vote_t votes;

  constexpr explicit simd_vote(vote_t v = 0) : votes(v) {}
  constexpr explicit operator vote_t() const { return votes; }
  constexpr explicit operator uint() const { return uint(votes); }
  constexpr bool all() const { return (votes & 0xffffffffu) == 0xffffffffu; }
  constexpr bool any() const { return votes != 0; }
};
using quad_vote = simd_vote;

inline simd_vote simd_ballot(bool vote) { return simd_vote(simd_vote::vote_t(kymo_ballot(vote))); }
inline simd_vote simd_active_threads_mask() { return simd_vote(simd_vote::vote_t(kymo_ballot(true))); }
inline bool simd_all(bool vote) { return kymo_ballot(!vote) == 0u; }
inline bool simd_any(bool vote) { return kymo_ballot(vote) != 0u; }
inline bool simd_is_first() { return kymo_lane() == ctz(kymo_ballot(true)); }
inline bool simd_is_helper_thread() { return false; }

template <typename T> T simd_shuffle(T value, ushort lane) { return kymo_shuffle(value, uint(lane)); }
template <typename T> T simd_broadcast(T value, ushort lane) { return kymo_shuffle(value, uint(lane)); }
template <typename T> T simd_broadcast_first(T value) { return kymo_shuffle(value, ctz(kymo_ballot(true))); }
template <typename T> T simd_shuffle_xor(T value, ushort mask) { return kymo_shuffle(value, kymo_lane() ^ uint(mask)); }
template <typename T> T simd_shuffle_up(T value, ushort delta) {
  const uint lane = kymo_lane();
  return kymo_shuffle(value, lane >= uint(delta) ? lane - uint(delta) : lane);
}
template <typename T> T simd_shuffle_down(T value, ushort delta) {
  const uint lane = kymo_lane() + uint(delta);
  return kymo_shuffle(value, lane < 32u ? lane : kymo_lane());
}
template <typename T> T simd_shuffle_rotate_up(T value, ushort delta) {
  return kymo_shuffle(value, (kymo_lane() + 32u - (uint(delta) & 31u)) & 31u);
}
template <typename T> T simd_shuffle_rotate_down(T value, ushort delta) {
  return kymo_shuffle(value, (kymo_lane() + uint(delta)) & 31u);
}
// Where the shift leaves the (part of `modulo` lanes of the) simdgroup, `fill` is shifted in.
template <typename T> T simd_shuffle_and_fill_down(T value, T fill, ushort delta, ushort modulo) {
  const uint lane = kymo_lane(), width = uint(modulo), in = lane & (width - 1u), to = in + uint(delta);
  const T own = kymo_shuffle(value, (lane & ~(width - 1u)) + (to & (width - 1u)));
  const T filled = kymo_shuffle(fill, (lane & ~(width - 1u)) + (to & (width - 1u)));
  return to < width ? own : filled;
}
template <typename T> T simd_shuffle_and_fill_down(T value, T fill, ushort delta) {
  return simd_shuffle_and_fill_down(value, fill, delta, ushort(32));
}
template <typename T> T simd_shuffle_and_fill_up(T value, T fill, ushort delta, ushort modulo) {
  const uint lane = kymo_lane(), width = uint(modulo), in = lane & (width - 1u), from = in + width - uint(delta);
  const T own = kymo_shuffle(value, (lane & ~(width - 1u)) + (from & (width - 1u)));
  const T filled = kymo_shuffle(fill, (lane & ~(width - 1u)) + (from & (width - 1u)));
  return in >= uint(delta) ? own : filled;
}
template <typename T> T simd_shuffle_and_fill_up(T value, T fill, ushort delta) {
  return simd_shuffle_and_fill_up(value, fill, delta, ushort(32));
}

// ---- Four neighbouring lanes

inline uint kymo_quad() { return kymo_lane() & ~3u; }
inline uint kymo_quad_ballot(bool vote) { return (kymo_ballot(vote) >> kymo_quad()) & 15u; }
inline quad_vote quad_ballot(bool vote) { return quad_vote(quad_vote::vote_t(kymo_quad_ballot(vote))); }
inline quad_vote quad_active_threads_mask() { return quad_vote(quad_vote::vote_t(kymo_quad_ballot(true))); }
inline bool quad_all(bool vote) { return kymo_quad_ballot(!vote) == 0u; }
inline bool quad_any(bool vote) { return kymo_quad_ballot(vote) != 0u; }
inline bool quad_is_first() { return (kymo_lane() & 3u) == ctz(kymo_quad_ballot(true)); }
template <typename T>
T quad_shuffle(T value, ushort lane) {
  return kymo_shuffle(value, kymo_quad() + (uint(lane) & 3u));
}
template <typename T>
T quad_broadcast(T value, ushort lane) {
  return kymo_shuffle(value, kymo_quad() + (uint(lane) & 3u));
}
template <typename T> T quad_broadcast_first(T value) {
  return kymo_shuffle(value, kymo_quad() + ctz(kymo_quad_ballot(true)));
}
template <typename T>
T quad_shuffle_xor(T value, ushort mask) {
  return kymo_shuffle(value, kymo_lane() ^ (uint(mask) & 3u));
}
template <typename T> T quad_shuffle_up(T value, ushort delta) {
  const uint in = kymo_lane() & 3u;
  return kymo_shuffle(value, in >= uint(delta) ? kymo_lane() - uint(delta) : kymo_lane());
}
template <typename T> T quad_shuffle_down(T value, ushort delta) {
  const uint in = kymo_lane() & 3u;
  return kymo_shuffle(value, in + uint(delta) < 4u ? kymo_lane() + uint(delta) : kymo_lane());
}
template <typename T> T quad_shuffle_rotate_up(T value, ushort delta) {
  return kymo_shuffle(value, kymo_quad() + ((kymo_lane() + 4u - (uint(delta) & 3u)) & 3u));
}
template <typename T> T quad_shuffle_rotate_down(T value, ushort delta) {
  return kymo_shuffle(value, kymo_quad() + ((kymo_lane() + uint(delta)) & 3u));
}
template <typename T> T quad_shuffle_and_fill_up(T value, T fill, ushort delta, ushort modulo = 4) {
  return simd_shuffle_and_fill_up(value, fill, delta, modulo);
}
template <typename T> T quad_shuffle_and_fill_down(T value, T fill, ushort delta, ushort modulo = 4) {
  return simd_shuffle_and_fill_down(value, fill, delta, modulo);
}

// Over the lanes of the four that there are: v[i] op v[i ^ 2], then 1.
struct kymo_plus {
  template <typename T> T operator()(T a, T b) const { return a + b; }
};
struct kymo_times {
  template <typename T> T operator()(T a, T b) const { return a * b; }
};
struct kymo_least {
  template <typename T> T operator()(T a, T b) const { return min(a, b); }
};
struct kymo_most {
  template <typename T> T operator()(T a, T b) const { return max(a, b); }
};
struct kymo_both {
  template <typename T> T operator()(T a, T b) const { return a & b; }
};
struct kymo_either {
  template <typename T> T operator()(T a, T b) const { return a | b; }
};
struct kymo_one {
  template <typename T> T operator()(T a, T b) const { return a ^ b; }
};
template <typename T, typename F> T kymo_quad_reduce(T value, F combine) {
  const uint there = kymo_quad_ballot(true), in = kymo_lane() & 3u;
  const T two = kymo_shuffle(value, kymo_lane() ^ 2u);
  if ((there & (1u << (in ^ 2u))) != 0u) value = combine(value, two);
  const T one = kymo_shuffle(value, kymo_lane() ^ 1u);
  if ((there & (1u << (in ^ 1u))) != 0u) value = combine(value, one);
  return value;
}
template <typename T> T quad_sum(T value) { return kymo_quad_reduce(value, kymo_plus()); }
template <typename T> T quad_product(T value) { return kymo_quad_reduce(value, kymo_times()); }
template <typename T> T quad_min(T value) { return kymo_quad_reduce(value, kymo_least()); }
template <typename T> T quad_max(T value) { return kymo_quad_reduce(value, kymo_most()); }
template <typename T> T quad_and(T value) { return kymo_quad_reduce(value, kymo_both()); }
template <typename T> T quad_or(T value) { return kymo_quad_reduce(value, kymo_either()); }
template <typename T> T quad_xor(T value) { return kymo_quad_reduce(value, kymo_one()); }

// Of the lanes of the four before this one, that there are: in their order.
template <typename T, typename F> T kymo_quad_prefix(T value, T start, bool is_inclusive, F combine) {
  const uint there = kymo_quad_ballot(true), in = kymo_lane() & 3u;
  T sum = start;
  for (uint i = 0u; i < 4u; ++i) {
    const T other = kymo_shuffle(value, kymo_quad() + i);
    const bool counts = is_inclusive ? i <= in : i < in;
    if (counts && (there & (1u << i)) != 0u) sum = combine(sum, other);
  }
  return sum;
}
template <typename T> T quad_prefix_inclusive_sum(T value) { return kymo_quad_prefix(value, T(0), true, kymo_plus()); }
template <typename T> T quad_prefix_exclusive_sum(T value) { return kymo_quad_prefix(value, T(0), false, kymo_plus()); }
template <typename T> T quad_prefix_inclusive_product(T value) {
  return kymo_quad_prefix(value, T(1), true, kymo_times());
}
template <typename T> T quad_prefix_exclusive_product(T value) {
  return kymo_quad_prefix(value, T(1), false, kymo_times());
}

}  // namespace metal
