// Atomic addition for types that devices have none for: smaller ones by exchanging the word that they are in.
#pragma once
#include <metal_stdlib>

namespace c10 {
namespace metal {
namespace detail {

// T lies at `offset` (in elements) of words. `combine` gives the new value.
template <typename T, typename F>
void change_part_of_word(device ::metal::atomic<uint>* words, long offset, F combine) {
  const uint bits = uint(sizeof(T)) * 8u, each = 32u / bits;
  device ::metal::atomic<uint>* word = words + offset / long(each);
  const uint shift = uint(offset % long(each)) * bits, mask = ((1u << bits) - 1u) << shift;
  uint expected = ::metal::atomic_load_explicit(word, ::metal::memory_order_relaxed);
  while (true) {
    const T old = part_of_word<T>((expected & mask) >> shift);
    const uint wanted = (expected & ~mask) | ((word_of_part(combine(old)) << shift) & mask);
    if (::metal::atomic_compare_exchange_weak_explicit(word, &expected, wanted, ::metal::memory_order_relaxed,
                                                       ::metal::memory_order_relaxed))
      return;
  }
}

template <typename T>
T part_of_word(uint bits) {
  if constexpr (sizeof(T) == 2)
    return as_type<T>(ushort(bits));
  else
    return as_type<T>(uchar(bits));
}
template <typename T>
uint word_of_part(T value) {
  if constexpr (sizeof(T) == 2)
    return uint(as_type<ushort>(value));
  else
    return uint(as_type<uchar>(value));
}

template <typename T>
struct WholeWordAtomic {
  using type = ::metal::atomic<T>;
  static void atomic_add(device type* data, long offset, T value) {
    ::metal::atomic_fetch_add_explicit(data + offset, value, ::metal::memory_order_relaxed);
  }
};

template <typename T>
struct PartOfWordAtomic {
  using type = ::metal::atomic<uint>;
  static void atomic_add(device type* data, long offset, T value) {
    change_part_of_word<T>(data, offset, [value](T old) { return T(old + value); });
  }
};

}  // namespace detail

// AtomicType<T>::type is what a buffer of T is declared as; atomic_add(buffer, element, value).
template <typename T>
struct AtomicType {};
template <>
struct AtomicType<float> : detail::WholeWordAtomic<float> {};
template <>
struct AtomicType<int> : detail::WholeWordAtomic<int> {};
template <>
struct AtomicType<uint> : detail::WholeWordAtomic<uint> {};
template <>
struct AtomicType<half> : detail::PartOfWordAtomic<half> {};
template <>
struct AtomicType<bfloat> : detail::PartOfWordAtomic<bfloat> {};
template <>
struct AtomicType<short> : detail::PartOfWordAtomic<short> {};
template <>
struct AtomicType<ushort> : detail::PartOfWordAtomic<ushort> {};
template <>
struct AtomicType<char> : detail::PartOfWordAtomic<char> {};
template <>
struct AtomicType<uchar> : detail::PartOfWordAtomic<uchar> {};

// 64 bits as two words: the carry goes to the upper one. Sums are right once all have been added; a reader in between
// may see one word without the other.
template <>
struct AtomicType<long> {
  using type = ::metal::atomic<uint>;
  static void atomic_add(device type* data, long offset, long value) {
    const uint low = uint(ulong(value)), high = uint(ulong(value) >> 32);
    device type* words = data + (offset << 1);
    const uint before = ::metal::atomic_fetch_add_explicit(words, low, ::metal::memory_order_relaxed);
    const uint carry = before + low < before ? 1u : 0u;
    if (high + carry != 0u) ::metal::atomic_fetch_add_explicit(words + 1, high + carry, ::metal::memory_order_relaxed);
  }
};

// Two floats, each by itself.
template <>
struct AtomicType<float2> {
  using type = ::metal::atomic<float>;
  static void atomic_add(device type* data, long offset, float2 value) {
    ::metal::atomic_fetch_add_explicit(data + (offset << 1), value.x, ::metal::memory_order_relaxed);
    ::metal::atomic_fetch_add_explicit(data + (offset << 1) + 1, value.y, ::metal::memory_order_relaxed);
  }
};

template <typename T>
using AtomicType_t = typename AtomicType<T>::type;

}  // namespace metal
}  // namespace c10
