#include "shader/sema/test_sema.h"

// Atomics, barriers, simdgroups, and what positions a kernel asks for.

namespace kymo::shader {

TEST(ThreadsTest, AtomicsKeepTheirOrder) {
  EXPECT_EQ("\n" + lowered(R"(enum memory_order { memory_order_relaxed };
kernel void f(device atomic_uint* n, device atomic<float>* x, device uint* a, uint i [[thread_position_in_grid]]) {
  threadgroup atomic_int local;
  uint before = atomic_fetch_add_explicit(n, 1, memory_order_relaxed);
  a[before] = i;
  atomic_fetch_add_explicit(x, 2.5f, memory_order_relaxed);
  atomic_store_explicit(&local, 0, memory_order_relaxed);
  a[0] = atomic_load_explicit(&n[1], memory_order_relaxed) + atomic_exchange_explicit(n, 3u, memory_order_relaxed);
  atomic_fetch_max_explicit(&local, int(i), memory_order_relaxed);
})"),
            R"(
kernel "f" void f([[buffer(0)]] device atomic<uint>* n, [[buffer(1)]] device atomic<float>* x, [[buffer(2)]] device uint* a) {
  uint i = grid_position()[0]
  threadgroup atomic<int> local [[address_taken]]
  uint before = atomic_add(n, 1u)
  (*(a + long(before))) = i
  atomic_add(x, 2.5f)
  atomic_store((&local), 0)
  uint t = atomic_load((n + 1))
  uint t = atomic_exchange(n, 3u)
  (*(a + 0)) = (t + t)
  atomic_max((&local), int(i))
}
)");
}

TEST(ThreadsTest, CompareExchangeStoresTheOldValue) {
  EXPECT_EQ("\n" + lowered(R"(enum memory_order { memory_order_relaxed };
kernel void f(device atomic_uint* n, device atomic_float* x) {
  uint expected = 1;
  while (!atomic_compare_exchange_weak_explicit(n, &expected, expected + 1, memory_order_relaxed, memory_order_relaxed)) {}
  float old = 2;
  bool was = atomic_compare_exchange_weak_explicit(x, &old, 3, memory_order_relaxed, memory_order_relaxed);
})"),
            R"(
kernel "f" void f([[buffer(0)]] device atomic<uint>* n, [[buffer(1)]] device atomic<float>* x) {
  uint expected [[address_taken]] = 1u
  loop (!(t == t)) {
    before {
      uint t = expected
      uint t = atomic_compare_exchange(n, t, (expected + 1u))
      if (!(t == t)) {
        expected = t
      }
    }
  }
  float old [[address_taken]] = 2.0f
  float t = old
  float t = atomic_compare_exchange(x, t, 3.0f)
  if (!(bitcast<uint>(t) == bitcast<uint>(t))) {
    old = t
  }
  bool was = (bitcast<uint>(t) == bitcast<uint>(t))
}
)");
}

TEST(ThreadsTest, BarriersNameTheirMemory) {
  EXPECT_EQ(
      "\n" +
          lowered(
              R"(enum class mem_flags : uint { mem_none = 0, mem_device = 1, mem_threadgroup = 2, mem_device_and_threadgroup = 3 };
kernel void f(device float* a) {
  threadgroup_barrier(mem_flags::mem_threadgroup);
  threadgroup_barrier(mem_flags::mem_device);
  simdgroup_barrier(mem_flags::mem_none);
  threadgroup_barrier(mem_flags::mem_device_and_threadgroup);
})"),
      R"(
kernel "f" void f([[buffer(0)]] device float* a) {
  group_barrier<2>()
  group_barrier<1>()
  simd_barrier()
  group_barrier<3>()
}
)");
}

TEST(ThreadsTest, SimdgroupFunctionsWidenAndNarrow) {
  EXPECT_EQ("\n" + lines(R"(a[0] = simd_sum(a[1]) + simd_max(a[2]);
half h = simd_sum(half(a[0]));
uchar c = simd_min(uchar(b[0]));
bool x = simd_or(b[0] > 1);
float2 v = simd_sum(float2(a[0], a[1]));
long l = simd_product(long(b[0]));
b[1] = simd_prefix_exclusive_sum(b[2]);
uint lane = kymo_lane() + kymo_ballot(b[0] > 2);
a[3] = kymo_shuffle(a[4], lane ^ 1u);)"),
            R"(
float t = simd_sum((*(a + 1)))
float t = simd_max((*(a + 2)))
(*(a + 0)) = (t + t)
float t = simd_sum(float(half((*(a + 0)))))
half h = half(t)
int t = simd_min(int(uchar((*(b + 0)))))
uchar c = uchar(t)
int t = simd_or(int(((*(b + 0)) > 1)))
bool x = bool(t)
float2 t = float2{(*(a + 0)), (*(a + 1))}
float t = simd_sum(t[0])
float t = simd_sum(t[1])
float2 v = float2{t, t}
long l = simd_product(long((*(b + 0))))
int t = simd_exclusive_sum((*(b + 2)))
(*(b + 1)) = t
uint t = simd_ballot(((*(b + 0)) > 2))
uint lane = (simd_lane() + t)
uint t = (lane ^ 1u)
float t = simd_shuffle((*(a + 4)), t)
(*(a + 3)) = t
)");
}

TEST(ThreadsTest, CollectivesKeepTheirOrder) {
  EXPECT_EQ("\n" + lines(R"(a[0] = a[1] + simd_sum(a[2]) * a[3];
if (b[0] > 1) a[1] = total(a[2]);)",
                         R"(float total(float v) { return simd_sum(v); })"),
            R"(
float t = (*(a + 1))
float t = simd_sum((*(a + 2)))
(*(a + 0)) = (t + (t * (*(a + 3))))
if ((*(b + 0)) > 1) {
  float t = total((*(a + 2)))
  (*(a + 1)) = t
}
)");
}

TEST(ThreadsTest, AtomicsAreChecked) {
  EXPECT_EQ(faults_of(R"(atomic_fetch_add_explicit(b, 1, 0);
threadgroup atomic_float x;
atomic_fetch_and_explicit(&x, 1, 0);
atomic_int local;
x = 2;)",
                      R"(kernel void other(device atomic_int* n) { int v = *n; })"),
            "error: cannot convert \"atomic<int>\" to \"int\" for the value of \"v\"\n"
            "error: \"atomic_fetch_add\" takes a pointer to an atomic, not \"device int*\"\n"
            "error: \"atomic_fetch_and\" is not supported for \"atomic<float>\"\n"
            "error: an atomic must be in device or threadgroup memory: \"local\" is a variable of a function\n"
            "error: cannot assign to \"atomic<float>\": use atomic_store_explicit\n");
}

TEST(ThreadsTest, PositionsAreVariables) {
  EXPECT_EQ(
      "\n" +
          lowered(
              R"(kernel void f(device float* a, uint3 p [[thread_position_in_grid]], ushort2 q [[thread_position_in_threadgroup]], uint g [[threadgroup_position_in_grid]],
              uint n [[threads_per_grid]], uint3 s [[threads_per_threadgroup]], uint c [[threadgroups_per_grid]], uint t [[thread_index_in_threadgroup]],
              uint l [[thread_index_in_simdgroup]], uint k [[simdgroup_index_in_threadgroup]], uint w [[threads_per_simdgroup]], uint m [[simdgroups_per_threadgroup]]) {
  a[0] = p.x + q.y + g + n + s.z + c + t + l + k + w + m;
})"),
      R"(
kernel "f" void f([[buffer(0)]] device float* a) {
  uint3 p = grid_position()
  ushort2 q = ushort2(group_position().xy)
  uint g = group_index()[0]
  uint n = grid_size()[0]
  uint3 s = group_size()
  uint c = group_count()[0]
  uint t = (group_position()[0] + (group_size()[0] * (group_position()[1] + (group_size()[1] * group_position()[2]))))
  uint l = simd_lane()
  uint k = simd_index()
  uint w = 32u
  uint m = ((((group_size()[0] * group_size()[1]) * group_size()[2]) + 31u) / 32u)
  (*(a + 0)) = float(((((((((((p[0] + uint(q[1])) + g) + n) + s[2]) + c) + t) + l) + k) + w) + m))
}
)");
}

}  // namespace kymo::shader
