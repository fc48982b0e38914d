// Atomic operations for types that devices have none for: smaller ones by exchanging the word that they are in.
#pragma once
#include <metal_stdlib>

namespace c10 {
namespace metal {
namespace detail {

template <typename T>
T part_of_word(uint bits) {
  if constexpr (::metal::is_same_v<T, bool>)
    return bits != 0u;
  else if constexpr (sizeof(T) == 4)
    return as_type<T>(bits);
  else if constexpr (sizeof(T) == 2)
    return as_type<T>(ushort(bits));
  else
    return as_type<T>(uchar(bits));
}
template <typename T>
uint word_of_part(T value) {
  if constexpr (::metal::is_same_v<T, bool>)
    return value ? 1u : 0u;
  else if constexpr (sizeof(T) == 4)
    return as_type<uint>(value);
  else if constexpr (sizeof(T) == 2)
    return uint(as_type<ushort>(value));
  else
    return uint(as_type<uchar>(value));
}

// Changes element number `offset` of T, in words. `combine` gives the new value. The first element may be in the middle
// of a word: a tensor may start there.
template <typename T, typename F>
void change_part_of_word(device ::metal::atomic<uint>* words, long offset, F combine) {
  const ulong address = reinterpret_cast<ulong>(words) + ulong(offset) * sizeof(T);
  device ::metal::atomic<uint>* word = reinterpret_cast<device ::metal::atomic<uint>*>(address & ~3ul);
  const uint bits = uint(sizeof(T)) * 8u, shift = uint(address & 3ul) * 8u;
  const uint mask = (bits == 32u ? ~0u : (1u << bits) - 1u) << shift;
  uint expected = ::metal::atomic_load_explicit(word, ::metal::memory_order_relaxed);
  while (true) {
    const T old = part_of_word<T>((expected & mask) >> shift);
    const uint wanted = (expected & ~mask) | ((word_of_part<T>(combine(old)) << shift) & mask);
    if (::metal::atomic_compare_exchange_weak_explicit(word, &expected, wanted, ::metal::memory_order_relaxed,
                                                       ::metal::memory_order_relaxed))
      return;
  }
}

// The members of every AtomicType: `op` is a function of two T, the old value and `value`.
template <typename T>
struct WholeWordAtomic {
  using type = ::metal::atomic<T>;
  static void atomic_add(device type* data, long offset, T value) {
    ::metal::atomic_fetch_add_explicit(data + offset, value, ::metal::memory_order_relaxed);
  }
  template <typename F>
  static void atomic_binary_op(device type* data, long offset, T value, F op) {
    device type* word = data + offset;
    T old = ::metal::atomic_load_explicit(word, ::metal::memory_order_relaxed);
    while (!::metal::atomic_compare_exchange_weak_explicit(word, &old, op(old, value), ::metal::memory_order_relaxed,
                                                           ::metal::memory_order_relaxed)) {
    }
  }
};

template <typename T>
struct PartOfWordAtomic {
  using type = ::metal::atomic<uint>;
  static void atomic_add(device type* data, long offset, T value) {
    change_part_of_word<T>(data, offset, [value](T old) { return T(old + value); });
  }
  template <typename F>
  static void atomic_binary_op(device type* data, long offset, T value, F op) {
    change_part_of_word<T>(data, offset, [value, op](T old) { return T(op(old, value)); });
  }
};

}  // namespace detail

// AtomicType<T>::type is what a buffer of T is declared as; atomic_add(buffer, element, value), and
// atomic_binary_op(buffer, element, value, op) for all but bool and complex numbers.
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
template <>
struct AtomicType<half2> : detail::PartOfWordAtomic<half2> {};

// A sum of flags: whether one of them is set.
template <>
struct AtomicType<bool> {
  using type = ::metal::atomic<uint>;
  static void atomic_add(device type* data, long offset, bool value) {
    if (value) detail::change_part_of_word<bool>(data, offset, [](bool) { return true; });
  }
};

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
  // The lower word is exchanged first. If another thread has changed the upper one, it is given back.
  template <typename F>
  static void atomic_binary_op(device type* data, long offset, long value, F op) {
    device type* words = data + (offset << 1);
    while (true) {
      uint low = ::metal::atomic_load_explicit(words, ::metal::memory_order_relaxed);
      uint high = ::metal::atomic_load_explicit(words + 1, ::metal::memory_order_relaxed);
      const long old = long(ulong(low) | (ulong(high) << 32)), wanted = op(old, value);
      if (wanted == old) return;
      if (!::metal::atomic_compare_exchange_weak_explicit(words, &low, uint(ulong(wanted)),
                                                          ::metal::memory_order_relaxed, ::metal::memory_order_relaxed))
        continue;
      if (::metal::atomic_compare_exchange_weak_explicit(words + 1, &high, uint(ulong(wanted) >> 32),
                                                         ::metal::memory_order_relaxed, ::metal::memory_order_relaxed))
        return;
      ::metal::atomic_store_explicit(words, low, ::metal::memory_order_relaxed);
    }
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
