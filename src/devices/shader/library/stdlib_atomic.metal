// What atomic operations and barriers take besides their operands. Orders and scopes are accepted; every operation is
// relaxed and a barrier orders all of the group.

namespace metal {

enum memory_order {
  memory_order_relaxed,
  memory_order_acquire,
  memory_order_release,
  memory_order_acq_rel,
  memory_order_seq_cst
};
enum thread_scope {
  thread_scope_thread,
  thread_scope_simdgroup,
  thread_scope_threadgroup,
  thread_scope_device,
  thread_scope_system
};

enum class mem_flags : uint {
  mem_none = 0,
  mem_device = 1,
  mem_threadgroup = 2,
  mem_texture = 4,
  mem_threadgroup_imageblock = 8,
  mem_device_and_threadgroup = 3
};
inline mem_flags operator|(mem_flags a, mem_flags b) { return mem_flags(uint(a) | uint(b)); }
inline mem_flags operator&(mem_flags a, mem_flags b) { return mem_flags(uint(a) & uint(b)); }

using atomic_int = atomic<int>;
using atomic_uint = atomic<uint>;
using atomic_ulong = atomic<ulong>;
using atomic_float = atomic<float>;
using atomic_bool = atomic<bool>;  // takes a word, because no target has atomics of a byte

template <typename T, typename V> void atomic_init(volatile device atomic<T>* object, V value) {
  atomic_store_explicit(object, T(value), memory_order_relaxed);
}
template <typename T, typename V> void atomic_init(volatile threadgroup atomic<T>* object, V value) {
  atomic_store_explicit(object, T(value), memory_order_relaxed);
}

}  // namespace metal
