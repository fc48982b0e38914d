// Groups of threads: positions, shared memory, and groups at the edge.
#include <algorithm>
#include <numeric>

#include "device/test_metal.h"

namespace kymo::device::tests {
namespace {

class MetalGroupTest : public MetalTest {};
KYMO_ON_EVERY_DEVICE(MetalGroupTest);

TEST_P(MetalGroupTest, EveryPositionIsCorrect) {
  const ShaderLibrary library = metal(R"(
kernel void positions(device uint* out, uint3 grid [[thread_position_in_grid]], uint3 in [[thread_position_in_threadgroup]],
                      uint3 group [[threadgroup_position_in_grid]], uint3 threads [[threads_per_grid]],
                      uint3 size [[threads_per_threadgroup]], uint3 groups [[threadgroups_per_grid]],
                      uint3 full_size [[dispatch_threads_per_threadgroup]], uint index [[thread_index_in_threadgroup]],
                      uint lane [[thread_index_in_simdgroup]], uint simd [[simdgroup_index_in_threadgroup]],
                      uint width [[threads_per_simdgroup]], uint simds [[simdgroups_per_threadgroup]],
                      ushort quad_lane [[thread_index_in_quadgroup]], ushort quad [[quadgroup_index_in_threadgroup]]) {
  device uint* o = out + 28 * (grid.x + threads.x * (grid.y + threads.y * grid.z));
  o[0] = grid.x; o[1] = grid.y; o[2] = grid.z;
  o[3] = in.x; o[4] = in.y; o[5] = in.z;
  o[6] = group.x; o[7] = group.y; o[8] = group.z;
  o[9] = threads.x; o[10] = threads.y; o[11] = threads.z;
  o[12] = size.x; o[13] = size.y; o[14] = size.z;
  o[15] = groups.x; o[16] = groups.y; o[17] = groups.z;
  o[18] = full_size.x; o[19] = full_size.y; o[20] = full_size.z;
  o[21] = index; o[22] = lane; o[23] = simd; o[24] = width; o[25] = simds; o[26] = quad_lane; o[27] = quad;
}
)");
  struct Case {
    uint32_t threads[3], group[3];
  };
  for (const Case& c : {Case{{64, 1, 1}, {32, 1, 1}}, Case{{70, 1, 1}, {32, 1, 1}}, Case{{100, 1, 1}, {48, 1, 1}},
                        Case{{10, 7, 1}, {4, 4, 1}}, Case{{5, 4, 3}, {2, 3, 2}}, Case{{3, 2, 2}, {3, 2, 2}}}) {
    const uint64_t total = uint64_t{c.threads[0]} * c.threads[1] * c.threads[2];
    const Tensor out = zeros({static_cast<int64_t>(28 * total)}, DType::U32);
    library["positions"]
        .threads(c.threads[0], c.threads[1], c.threads[2])
        .group(c.group[0], c.group[1], c.group[2])(out);
    const auto got = out.to_host<uint32_t>();
    for (uint32_t z = 0, n = 0; z < c.threads[2]; ++z) {
      for (uint32_t y = 0; y < c.threads[1]; ++y) {
        for (uint32_t x = 0; x < c.threads[0]; ++x, ++n) {
          const uint32_t at[3] = {x, y, z};
          uint32_t in[3], group[3], size[3], groups[3];
          for (int d = 0; d < 3; ++d) {
            in[d] = at[d] % c.group[d];
            group[d] = at[d] / c.group[d];
            size[d] = std::min(c.group[d], c.threads[d] - group[d] * c.group[d]);
            groups[d] = (c.threads[d] + c.group[d] - 1) / c.group[d];
          }
          const uint32_t index = in[0] + size[0] * (in[1] + size[1] * in[2]), all = size[0] * size[1] * size[2];
          const std::vector<uint32_t> wanted = {x,
                                                y,
                                                z,
                                                in[0],
                                                in[1],
                                                in[2],
                                                group[0],
                                                group[1],
                                                group[2],
                                                c.threads[0],
                                                c.threads[1],
                                                c.threads[2],
                                                size[0],
                                                size[1],
                                                size[2],
                                                groups[0],
                                                groups[1],
                                                groups[2],
                                                c.group[0],
                                                c.group[1],
                                                c.group[2],
                                                index,
                                                index % 32,
                                                index / 32,
                                                32,
                                                (all + 31) / 32,
                                                index % 4,
                                                index / 4};
          ASSERT_EQ(std::vector<uint32_t>(got.begin() + 28 * n, got.begin() + 28 * n + 28), wanted)
              << x << "," << y << "," << z << " of " << c.threads[0] << "x" << c.threads[1] << "x" << c.threads[2]
              << " in " << c.group[0] << "x" << c.group[1] << "x" << c.group[2];
        }
      }
    }
  }
}

TEST_P(MetalGroupTest, GroupSumsItsValues) {
  const ShaderLibrary library = metal(R"(
kernel void reduce(device float* sums, device const float* in, uint i [[thread_position_in_grid]],
                   uint t [[thread_position_in_threadgroup]], uint g [[threadgroup_position_in_grid]],
                   uint n [[threads_per_threadgroup]]) {
  threadgroup float part[64];
  part[t] = in[i];
  for (uint s = 32; s > 0; s /= 2) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t < s && t + s < n) part[t] += part[t + s];
  }
  if (t == 0) sums[g] = part[0];
}
kernel void given(device int* out, device const int* in, threadgroup int* memory [[threadgroup(0)]],
                  uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]], uint n [[threads_per_threadgroup]]) {
  memory[t] = in[i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[i] = memory[n - 1 - t];
}
kernel void two_given(device int* out, threadgroup int* a [[threadgroup(0)]], threadgroup short* b [[threadgroup(1)]],
                      uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]], uint n [[threads_per_threadgroup]]) {
  a[t] = int(i);
  b[t] = short(i * 2);
  threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
  out[i] = a[(t + 1) % n] * 1000 + b[(t + 2) % n];
}
void exchange(threadgroup float* from, threadgroup float& total, uint t) {
  if (t == 0) {
    total = 0;
    for (int k = 0; k < 8; ++k) total += from[k];
  }
}
struct Shared {
  float values[8];
  float total;
  half small;
};
kernel void structures(device float* out, uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]]) {
  threadgroup Shared shared;
  threadgroup float grid[2][4];
  shared.values[t] = float(i);
  grid[t / 4][t % 4] = float(t) * 0.5;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  exchange(shared.values, shared.total, t);
  if (t == 1) shared.small = half(2.5h);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[i] = shared.total + grid[(t + 4) % 8 / 4][t % 4] + float(shared.small);
}
)");
  for (const int count : {256, 200, 64, 10}) {
    const auto in = each(count, [](int i) { return static_cast<float>(i % 17); });
    const int groups = (count + 63) / 64;
    const Tensor sums = zeros({groups});
    library["reduce"].threads(static_cast<uint64_t>(count)).group(64)(sums, from_host(in));
    EXPECT_EQ(sums.to_host<float>(), each(groups, [&](int g) {
                return std::accumulate(in.begin() + 64 * g, in.begin() + std::min(64 * g + 64, count), 0.0f);
              }));
  }
  const auto in = each(100, [](int i) { return i * i; });
  const Tensor out = zeros({100}, DType::I32);
  library["given"].threads(100).group(32)(out, from_host(in), 32 * 4);
  EXPECT_EQ(out.to_host<int32_t>(), each(100, [&](int i) {
              const int first = i / 32 * 32, size = std::min(32, 100 - first);
              return in[static_cast<size_t>(first + size - 1 - (i - first))];
            }));
  library["two_given"].threads(96).group(32)(out, 32 * 4, 32 * 2);
  EXPECT_EQ(out.slice(0, 0, 96).to_host<int32_t>(), each(96, [](int i) {
              const int first = i / 32 * 32, t = i % 32;
              return (first + (t + 1) % 32) * 1000 + (first + (t + 2) % 32) * 2;
            }));
  EXPECT_EQ(run<float>(library["structures"].group(8), 32), each(32, [](int i) {
              const int first = i / 8 * 8, t = i % 8;
              return static_cast<float>(first * 8 + 28) + static_cast<float>((t + 4) % 8 / 4 * 4 + t % 4) * 0.5f + 2.5f;
            }));
  EXPECT_EQ(library["reduce"].static_thread_group_memory_length(), 256u);
  EXPECT_EQ(library["reduce"].thread_execution_width(), 32u);
}

// Their constructors are named with the arguments of the template, as in candle's reductions.
TEST_P(MetalGroupTest, StructuresOfATemplateAreReducedInGroupMemory) {
  const ShaderLibrary library = metal(R"(
template <typename T>
struct Indexed {
  uint index;
  T value;
  constexpr Indexed<T>() = default;
  constexpr Indexed<T>() threadgroup = default;
  constexpr Indexed<T>(uint i, T v) : index(i), value(v) {}
};
template <typename T>
Indexed<T> larger(Indexed<T> a, Indexed<T> b) {
  return b.value > a.value || (b.value == a.value && b.index < a.index) ? b : a;
}
template <typename T>
kernel void argmax(device uint* out, device const T* in, constant uint& count, uint t [[thread_position_in_threadgroup]],
                   uint size [[threads_per_threadgroup]]) {
  threadgroup Indexed<T> best[64];
  Indexed<T> own(0, in[0]);
  for (uint i = t; i < count; i += size) own = larger(own, Indexed<T>(i, in[i]));
  best[t] = own;
  for (uint half_size = size / 2; half_size > 0; half_size /= 2) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t < half_size) best[t] = larger<T>(best[t], best[t + half_size]);
  }
  if (t == 0) out[0] = best[0].index;
}
template [[host_name("argmax_float")]] kernel void argmax<float>(device uint*, device const float*, constant uint&, uint, uint);
)");
  const auto in = each(1001, [](int i) { return static_cast<float>(i * 37 % 101); });
  const Tensor out = zeros({1}, DType::U32);
  library["argmax_float"].threads(64).group(64)(out, from_host(in), 1001u);
  EXPECT_EQ(out.to_host<uint32_t>()[0], static_cast<uint32_t>(std::ranges::max_element(in) - in.begin()));
}

TEST_P(MetalGroupTest, MatricesMultiplyInTiles) {
  const ShaderLibrary library = metal(R"(
kernel void product(device float* c, device const float* a, device const float* b, constant uint& n,
                    uint2 i [[thread_position_in_grid]], uint2 t [[thread_position_in_threadgroup]]) {
  threadgroup float left[8][8], right[8][8];
  float sum = 0;
  for (uint k = 0; k < n; k += 8) {
    left[t.y][t.x] = a[i.y * n + k + t.x];
    right[t.y][t.x] = b[(k + t.y) * n + i.x];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint j = 0; j < 8; ++j) sum += left[t.y][j] * right[j][t.x];
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  c[i.y * n + i.x] = sum;
}
)");
  constexpr size_t kSize = 24;
  const auto a = each(kSize * kSize, [](int i) { return static_cast<float>(i % 13) * 0.5f; });
  const auto b = each(kSize * kSize, [](int i) { return static_cast<float>(i % 7) - 3; });
  const Tensor c = zeros({kSize * kSize});
  library["product"].threads(kSize, kSize).group(8, 8)(c, from_host(a), from_host(b), static_cast<uint32_t>(kSize));
  const auto got = c.to_host<float>();
  for (size_t y = 0; y < kSize; ++y) {
    for (size_t x = 0; x < kSize; ++x) {
      float sum = 0;
      for (size_t k = 0; k < kSize; ++k) sum += a[y * kSize + k] * b[k * kSize + x];
      ASSERT_EQ(got[y * kSize + x], sum) << x << "," << y;
    }
  }
}

TEST_P(MetalGroupTest, AtomicsLoseNoUpdate) {
  const ShaderLibrary library = metal(R"(
kernel void count(device atomic_uint* bins, device const uint* in, uint i [[thread_position_in_grid]]) {
  atomic_fetch_add_explicit(&bins[in[i] % 8], 1u, memory_order_relaxed);
}
kernel void every(device atomic_int* out, uint i [[thread_position_in_grid]]) {
  const int v = int(i);
  atomic_fetch_add_explicit(out + 0, v, memory_order_relaxed);
  atomic_fetch_sub_explicit(out + 1, v, memory_order_relaxed);
  atomic_fetch_min_explicit(out + 2, -v, memory_order_relaxed);
  atomic_fetch_max_explicit(out + 3, v, memory_order_relaxed);
  atomic_fetch_or_explicit(out + 4, 1 << (v % 31), memory_order_relaxed);
  atomic_fetch_and_explicit(out + 5, ~(1 << (v % 31)), memory_order_relaxed);
  atomic_fetch_xor_explicit(out + 6, v, memory_order_relaxed);
  if (i == 7) atomic_store_explicit(out + 7, 77, memory_order_relaxed);
  if (i == 8) atomic_exchange_explicit(out + 8, 88, memory_order_relaxed);
}
kernel void compare(device atomic_uint* out, uint i [[thread_position_in_grid]]) {
  uint expected = atomic_load_explicit(out, memory_order_relaxed);
  while (!atomic_compare_exchange_weak_explicit(out, &expected, expected * 2 + 1 > 1000000 ? expected : expected + i, memory_order_relaxed, memory_order_relaxed)) {
  }
}
kernel void floats(device atomic_float* out, uint i [[thread_position_in_grid]]) {
  atomic_fetch_add_explicit(out + i % 3, float(i % 5), memory_order_relaxed);
}
kernel void in_group(device uint* out, uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]],
                     uint g [[threadgroup_position_in_grid]]) {
  threadgroup atomic_uint total;
  if (t == 0) atomic_store_explicit(&total, 0u, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  atomic_fetch_add_explicit(&total, i, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (t == 0) out[g] = atomic_load_explicit(&total, memory_order_relaxed);
}
)");
  constexpr int kCount = 1000;
  const auto in = each(kCount, [](int i) { return static_cast<uint32_t>(i * 7 % 11); });
  const Tensor bins = zeros({8}, DType::U32);
  library["count"].threads(kCount)(bins, from_host(in));
  std::vector<uint32_t> counted(8);
  for (const uint32_t v : in) ++counted[v % 8];
  EXPECT_EQ(bins.to_host<uint32_t>(), counted);

  const Tensor out = from_host(std::vector<int32_t>{0, 0, 0, 0, 0, -1, 0, 0, 0});
  library["every"].threads(kCount)(out);
  int exclusive = 0;
  for (int i = 0; i < kCount; ++i) exclusive ^= i;
  EXPECT_EQ(out.to_host<int32_t>(),
            (std::vector<int32_t>{499500, -499500, -999, 999, 0x7fffffff, INT32_MIN, exclusive, 77, 88}));

  const Tensor one = from_host(std::vector<uint32_t>{1});
  library["compare"].threads(100)(one);
  EXPECT_EQ(one.to_host<uint32_t>()[0], 1u + 4950u);
  const Tensor sums = zeros({3});
  library["floats"].threads(kCount)(sums);
  std::vector<float> wanted(3);
  for (int i = 0; i < kCount; ++i) wanted[static_cast<size_t>(i % 3)] += static_cast<float>(i % 5);
  EXPECT_EQ(sums.to_host<float>(), wanted);
  const Tensor totals = zeros({4}, DType::U32);
  library["in_group"].threads(100).group(32)(totals);
  EXPECT_EQ(totals.to_host<uint32_t>(), (std::vector<uint32_t>{496, 1520, 2544, 96 + 97 + 98 + 99}));
}

TEST_P(MetalGroupTest, FlagsAreAtomic) {
  const ShaderLibrary library = metal(R"(
kernel void claim(device atomic_bool* taken, device uint* out, uint i [[thread_position_in_grid]],
                  uint lid [[thread_position_in_threadgroup]]) {
  threadgroup atomic_bool any;
  if (lid == 0) atomic_init(&any, false);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (!atomic_exchange_explicit(&taken[i % 8], true, memory_order_relaxed)) {
    atomic_store_explicit(&any, true, memory_order_relaxed);
    out[8 + i % 8] = 1;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  bool expected = false, is_first = false;
  while (i < 2 && !is_first && !expected)  // it may fail without a reason
    is_first = atomic_compare_exchange_weak_explicit(&taken[8], &expected, true, memory_order_relaxed,
                                                     memory_order_relaxed);
  if (is_first) out[0] = 100 + uint(expected);
  threadgroup_barrier(mem_flags::mem_device);
  expected = false;
  if (i == 0) {
    bool is_changed = false;
    while (!is_changed && !expected)
      is_changed = atomic_compare_exchange_weak_explicit(&taken[8], &expected, false, memory_order_relaxed,
                                                         memory_order_relaxed);
    out[1] = !is_changed && expected;
    out[2] = atomic_load_explicit(&any, memory_order_relaxed) + 2 * atomic_load_explicit(taken + 9, memory_order_relaxed);
  }
}
template <typename T> T swap(device atomic<T>* object, T value) {
  return atomic_exchange_explicit(object, value, memory_order_relaxed);
}
struct Flags { atomic<bool> is_set; uint sets; };
kernel void once(device Flags* flags, device atomic_bool* seen, uint i [[thread_position_in_grid]]) {
  if (!swap(&flags[i % 4].is_set, true)) flags[i % 4].sets = i % 4 + uint(sizeof(Flags));
  atomic_store_explicit(seen, i >= 0u, memory_order_relaxed);
})");
  const Tensor taken = zeros({10}, DType::U32), out = zeros({16}, DType::U32);
  library["claim"].threads(32).group(32)(taken, out);
  EXPECT_EQ(out.to_host<uint32_t>(), (std::vector<uint32_t>{100, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1}));
  const Tensor flags = zeros({8}, DType::U32), seen = zeros({1}, DType::U32);
  library["once"].threads(64)(flags, seen);
  EXPECT_EQ(flags.to_host<uint32_t>(), (std::vector<uint32_t>{1, 8, 1, 9, 1, 10, 1, 11}));
  EXPECT_EQ(seen.to_host<uint32_t>(), (std::vector<uint32_t>{1}));
}

}  // namespace
}  // namespace kymo::device::tests
