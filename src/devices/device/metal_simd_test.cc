// Simdgroups of 32 threads on every device, even if its hardware has another width. The last simdgroup of a group may
// have fewer threads.
#include "device/test_metal.h"

namespace kymo::device::tests {
namespace {

class MetalSimdTest : public MetalTest {};
KYMO_ON_EVERY_DEVICE(MetalSimdTest);

// The simdgroup of thread i: its first thread, its number of threads, and the lane of i. The launch has `count` threads
// in groups of `group`.
struct Simdgroup {
  int first, size, lane;
};
Simdgroup simdgroup_of(int i, int count, int group) {
  const int group_first = i / group * group, group_size = std::min(group, count - group_first);
  const int in = i - group_first, first = in / 32 * 32;
  return {group_first + first, std::min(32, group_size - first), in - first};
}

struct Grid {
  int count, group;
};
// A full simdgroup; one with few threads; two full ones and a part; several groups, the last partial. There are only
// three group sizes, because PoCL takes seconds to compile these kernels for each size.
constexpr Grid kGrids[] = {{32, 32}, {5, 32}, {70, 70}, {100, 40}};

// The order of sums: v[i] op v[i ^ 16], then 8, 4, 2, 1, for the lanes that exist.
template <class T, class F>
T by_tree(std::vector<T> values, F combine) {
  const size_t size = values.size();
  for (size_t step = 16; step > 0; step /= 2) {
    std::vector<T> next = values;
    for (size_t i = 0; i < size; ++i)
      if ((i ^ step) < size)
        next[i] = (i & step) == 0 ? combine(values[i], values[i ^ step]) : combine(values[i ^ step], values[i]);
    values = next;
  }
  return values[0];
}

TEST_P(MetalSimdTest, Reductions) {
  const ShaderLibrary library = metal(R"(
kernel void sums(device float* out, device const float* in, uint i [[thread_position_in_grid]]) { out[i] = simd_sum(in[i]); }
kernel void ints(device int* out, device const int* in, uint i [[thread_position_in_grid]]) {
  const int v = in[i];
  device int* o = out + 8 * i;
  o[0] = simd_sum(v); o[1] = simd_product(v % 2 * 2 + 1); o[2] = simd_min(v); o[3] = simd_max(v);
  o[4] = simd_and(v | 16); o[5] = simd_or(v); o[6] = simd_xor(v); o[7] = int(simd_sum(long(v) * 3l));
}
kernel void other_types(device float* out, device const int* in, uint i [[thread_position_in_grid]]) {
  device float* o = out + 4 * i;
  o[0] = float(simd_sum(half(in[i] % 4))); o[1] = simd_max(float2(in[i], -in[i])).y; o[2] = float(simd_sum(short(in[i])));
  o[3] = float(simd_min(uchar(in[i])));
}
)");
  for (const Grid& grid : kGrids) {
    const int count = grid.count, group = grid.group;
    const auto floats = each(count, [](int i) { return 1.0f / static_cast<float>(i + 1); });
    const auto in = each(count, [](int i) { return i * 37 % 64; });
    const auto of = [&](int i, auto&& value) {
      const Simdgroup s = simdgroup_of(i, count, group);
      std::vector<decltype(value(0))> values;
      for (int k = 0; k < s.size; ++k) values.push_back(value(s.first + k));
      return values;
    };
    const auto g = static_cast<uint64_t>(group);
    EXPECT_EQ(run<float>(library["sums"].group(g), count, floats),
              each(count,
                   [&](int i) {
                     return by_tree(of(i, [&](int k) { return floats[static_cast<size_t>(k)]; }),
                                    [](float a, float b) { return a + b; });
                   }))
        << count << " in groups of " << group;
    const Tensor out = zeros({count * 8}, DType::I32), others = zeros({count * 4});
    library["ints"].threads(static_cast<uint64_t>(count)).group(g)(out, from_host(in));
    library["other_types"].threads(static_cast<uint64_t>(count)).group(g)(others, from_host(in));
    const auto got = out.to_host<int32_t>();
    const auto got_others = others.to_host<float>();
    for (int i = 0; i < count; ++i) {
      const auto v = of(i, [&](int k) { return in[static_cast<size_t>(k)]; });
      int sum = 0, product = 1, least = v[0], most = v[0], both = -1, any = 0, odd = 0, fours = 0;
      for (const int x : v) {
        sum += x;
        product = static_cast<int>(static_cast<uint32_t>(product) * static_cast<uint32_t>(x % 2 * 2 + 1));
        least = std::min(least, x);
        most = std::max(most, x);
        both &= x | 16;
        any |= x;
        odd ^= x;
        fours += x % 4;
      }
      const auto at = got.begin() + 8 * i;
      ASSERT_EQ(std::vector<int32_t>(at, at + 8),
                (std::vector<int32_t>{sum, product, least, most, both, any, odd, sum * 3}))
          << i << " of " << count << " in groups of " << group;
      const auto other = got_others.begin() + 4 * i;
      ASSERT_EQ(std::vector<float>(other, other + 4),
                (std::vector<float>{static_cast<float>(fours), static_cast<float>(-least), static_cast<float>(sum),
                                    static_cast<float>(least)}));
    }
  }
}

// Threads that do not take part change nothing, whatever the others have.
TEST_P(MetalSimdTest, ReductionsOfSomeThreadsHaveOnlyTheirValues) {
  const ShaderLibrary library = metal(R"(
kernel void some(device float* floats, device int* ints, device const float* in, uint i [[thread_position_in_grid]]) {
  if (i % 3 == 1) {
    floats[4 * i] = simd_sum(in[0]); floats[4 * i + 1] = simd_min(in[1]);
    floats[4 * i + 2] = simd_max(in[2]); floats[4 * i + 3] = simd_product(in[3]);
    device int* o = ints + 12 * i;
    o[0] = simd_min(77); o[1] = simd_max(-77); o[2] = simd_and(12); o[3] = simd_or(0); o[4] = simd_xor(0);
    o[5] = int(simd_min(0xfffffff0u)); o[6] = int(simd_max(5u)); o[7] = int(simd_min(1l << 40) >> 32);
    o[8] = int(simd_max(-1l << 40) >> 32); o[9] = int(simd_and(ulong(3) << 40) >> 40); o[10] = simd_product(1);
    o[11] = int(uint(simd_vote::vote_t(simd_active_threads_mask())));
  }
}
)");
  constexpr int kCount = 40;  // the last simdgroup is partial
  const float not_a_number = std::numeric_limits<float>::quiet_NaN(), least = -std::numeric_limits<float>::infinity();
  const Tensor floats = zeros({kCount, 4}), ints = zeros({kCount, 12}, DType::I32);
  library["some"].threads(kCount).group(kCount)(floats, ints, from_host(std::vector{-0.0f, not_a_number, least, 1.0f}));
  const auto f = floats.to_host<float>();
  const auto n = ints.to_host<int32_t>();
  for (size_t i = 1; i < kCount; i += 3) {
    EXPECT_TRUE(f[4 * i] == 0 && std::signbit(f[4 * i])) << i;
    EXPECT_TRUE(std::isnan(f[4 * i + 1])) << i;
    EXPECT_EQ(f[4 * i + 2], least) << i;
    EXPECT_EQ(f[4 * i + 3], 1.0f) << i;
    const int lanes = i < 32 ? 0x12492492 | static_cast<int>(0x80000000) : 0x24;
    const auto at = n.begin() + static_cast<std::ptrdiff_t>(12 * i);
    EXPECT_EQ(std::vector<int32_t>(at, at + 12),
              (std::vector<int32_t>{77, -77, 12, 0, 0, -16, 5, 256, -256, 3, 1, lanes}))
        << i;
  }
}

TEST_P(MetalSimdTest, Shuffles) {
  const ShaderLibrary library = metal(R"(
kernel void shuffles(device int* out, device const int* in, uint i [[thread_position_in_grid]]) {
  const int v = in[i];
  device int* o = out + 10 * i;
  o[0] = simd_shuffle(v, 3); o[1] = simd_shuffle_xor(v, 1); o[2] = simd_shuffle_up(v, 2); o[3] = simd_shuffle_down(v, 2);
  o[4] = simd_broadcast(v, 1); o[5] = simd_broadcast_first(v); o[6] = simd_shuffle_and_fill_down(v, -v, 1);
  o[7] = int(simd_shuffle(long(v) << 33, 2) >> 33); o[8] = simd_shuffle(int2(v, v + 1), 2).y; o[9] = simd_shuffle_rotate_down(v, 1);
}
kernel void votes(device uint* out, device const int* in, uint i [[thread_position_in_grid]]) {
  device uint* o = out + 5 * i;
  o[0] = uint(simd_vote::vote_t(simd_ballot(in[i] % 2 == 0))); o[1] = simd_all(in[i] < 63) ? 1 : 0; o[2] = simd_any(in[i] > 60) ? 1 : 0;
  o[3] = simd_is_first() ? 1 : 0; o[4] = uint(simd_vote::vote_t(simd_active_threads_mask()));
}
kernel void prefixes(device int* out, device const int* in, uint i [[thread_position_in_grid]]) {
  device int* o = out + 4 * i;
  o[0] = simd_prefix_inclusive_sum(in[i]); o[1] = simd_prefix_exclusive_sum(in[i]);
  o[2] = simd_prefix_inclusive_product(in[i] % 2 + 1); o[3] = simd_prefix_exclusive_product(in[i] % 2 + 1);
}
kernel void quads(device int* out, device const int* in, uint i [[thread_position_in_grid]]) {
  device int* o = out + 5 * i;
  o[0] = quad_sum(in[i]); o[1] = quad_shuffle_xor(in[i], 1); o[2] = quad_broadcast(in[i], 2); o[3] = quad_max(in[i]); o[4] = quad_all(in[i] > 0) ? 1 : 0;
}
)");
  for (const Grid& grid : kGrids) {
    const int count = grid.count, group = grid.group;
    const auto in = each(count, [](int i) { return i * 37 % 64; });
    const auto threads = static_cast<uint64_t>(count), g = static_cast<uint64_t>(group);
    const Tensor shuffled = zeros({count * 10}, DType::I32), voted = zeros({count * 5}, DType::U32),
                 prefixes = zeros({count * 4}, DType::I32), quads = zeros({count * 5}, DType::I32);
    library["shuffles"].threads(threads).group(g)(shuffled, from_host(in));
    library["votes"].threads(threads).group(g)(voted, from_host(in));
    library["prefixes"].threads(threads).group(g)(prefixes, from_host(in));
    library["quads"].threads(threads).group(g)(quads, from_host(in));
    const auto s = shuffled.to_host<int32_t>(), p = prefixes.to_host<int32_t>(), q = quads.to_host<int32_t>();
    const auto b = voted.to_host<uint32_t>();
    for (int i = 0; i < count; ++i) {
      const Simdgroup group_of = simdgroup_of(i, count, group);
      const auto [first, size, lane] = group_of;
      const auto at = [&, f = first](int k) { return in[static_cast<size_t>(f + k)]; };
      const auto has = [n = size](int k) { return k >= 0 && k < n; };
      const auto where = [&] { return testing::Message() << i << " of " << count << " in groups of " << group; };
      const int32_t* o = &s[static_cast<size_t>(10 * i)];
      if (has(3)) {
        EXPECT_EQ(o[0], at(3)) << where();
      }
      if (has(lane ^ 1)) {
        EXPECT_EQ(o[1], at(lane ^ 1)) << where();
      }
      if (has(lane - 2)) {
        EXPECT_EQ(o[2], at(lane - 2)) << where();
      }
      if (has(lane + 2)) {
        EXPECT_EQ(o[3], at(lane + 2)) << where();
      }
      if (has(1)) {
        EXPECT_EQ(o[4], at(1)) << where();
      }
      EXPECT_EQ(o[5], at(0)) << where();
      if (size == 32) {
        EXPECT_EQ(o[6], lane == 31 ? -at(0) : at(lane + 1)) << where();
      }
      if (has(2)) {
        EXPECT_EQ(o[7], at(2)) << where();
      }
      if (has(2)) {
        EXPECT_EQ(o[8], at(2) + 1) << where();
      }
      if (size == 32) {
        EXPECT_EQ(o[9], at((lane + 1) % 32)) << where();
      }
      uint32_t even = 0, there = 0;
      bool all = true, any = false;
      int sum = 0, product = 1, before = 0, product_before = 1;
      for (int k = 0; k < size; ++k) {
        there |= 1u << k;
        if (at(k) % 2 == 0) even |= 1u << k;
        all &= at(k) < 63;
        any |= at(k) > 60;
        if (k == lane) {
          before = sum;
          product_before = product;
        }
        if (k <= lane) {
          sum += at(k);
          product = static_cast<int>(static_cast<uint32_t>(product) * static_cast<uint32_t>(at(k) % 2 + 1));
        }
      }
      const auto vote = b.begin() + 5 * i;
      ASSERT_EQ(std::vector<uint32_t>(vote, vote + 5),
                (std::vector<uint32_t>{even, all ? 1u : 0u, any ? 1u : 0u, lane == 0 ? 1u : 0u, there}))
          << where();
      const auto prefix = p.begin() + 4 * i;
      ASSERT_EQ(std::vector<int32_t>(prefix, prefix + 4), (std::vector<int32_t>{sum, before, product, product_before}))
          << where();
      int quad_sum = 0, quad_most = 0;
      bool quad_all = true;
      for (int k = lane / 4 * 4; k < std::min(lane / 4 * 4 + 4, size); ++k) {
        quad_sum += at(k);
        quad_most = std::max(quad_most, at(k));
        quad_all &= at(k) > 0;
      }
      const int32_t* four = &q[static_cast<size_t>(5 * i)];
      EXPECT_EQ(four[0], quad_sum) << where();
      if (has(lane ^ 1)) {
        EXPECT_EQ(four[1], at(lane ^ 1)) << where();
      }
      if (has(lane / 4 * 4 + 2)) {
        EXPECT_EQ(four[2], at(lane / 4 * 4 + 2)) << where();
      }
      EXPECT_EQ(four[3], quad_most) << where();
      EXPECT_EQ(four[4], quad_all ? 1 : 0) << where();
    }
  }
}

TEST_P(MetalSimdTest, SimdFunctionsWorkInBranchesThatSomeThreadsTake) {
  const ShaderLibrary library = metal(R"(
kernel void first_simdgroup(device float* out, device const float* in, uint i [[thread_position_in_grid]],
                            uint t [[thread_position_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                            uint simd [[simdgroup_index_in_threadgroup]], uint simds [[simdgroups_per_threadgroup]],
                            uint g [[threadgroup_position_in_grid]]) {
  threadgroup float parts[32];
  const float part = simd_sum(in[i]);
  if (lane == 0) parts[simd] = part;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (simd == 0) {
    const float all = simd_sum(lane < simds ? parts[lane] : 0.0f);
    if (lane == 0) out[g] = all;
  }
}
kernel void in_a_loop(device int* out, uint i [[thread_position_in_grid]], uint simd [[simdgroup_index_in_threadgroup]]) {
  int total = 0;
  for (uint k = 0; k <= simd; ++k) total += simd_sum(int(k + 1));
  out[i] = total;
}
kernel void some_lanes(device int* out, uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
  int r = -1;
  if (lane % 2 == 0) {
    r = simd_sum(1);
  } else {
    r = simd_max(int(lane));
  }
  out[i] = r;
}
int until_done(int start) {
  int steps = 0;
  while (simd_any(start > 0)) {
    start -= 3;
    ++steps;
  }
  return steps;
}
kernel void loop_in_a_loop(device int* out, constant uint& rounds, uint i [[thread_position_in_threadgroup]],
                           uint lane [[thread_index_in_simdgroup]], uint simd [[simdgroup_index_in_threadgroup]]) {
  threadgroup int sums[32];
  for (uint r = 0; r < rounds; ++r) {
    if (lane == 31) sums[simd] = int(i);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (simd == 0) {
      int x = lane < 4 ? sums[lane] : 0;
      for (int k = 1; k <= 16; k *= 2) x += simd_shuffle_and_fill_up(x, 0, k);
      sums[lane] = x;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = sums[lane];
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
}
kernel void calls(device int* out, uint i [[thread_position_in_grid]], uint simd [[simdgroup_index_in_threadgroup]]) {
  out[i] = simd == 1 ? -5 : until_done(int(i % 32));
}
)");
  constexpr int kCount = 128;
  const auto in = each(kCount, [](int i) { return static_cast<float>(i); });
  const Tensor out = zeros({1});
  library["first_simdgroup"].threads(kCount).group(kCount)(out, from_host(in));
  EXPECT_EQ(out.to_host<float>()[0], 128 * 127 / 2.0f);
  EXPECT_EQ(run<int32_t>(library["in_a_loop"].group(kCount), kCount), each(kCount, [](int i) {
              const int n = i / 32 + 1;
              return 32 * n * (n + 1) / 2;
            }));
  EXPECT_EQ(run<int32_t>(library["some_lanes"].group(kCount), kCount),
            each(kCount, [](int i) { return i % 2 == 0 ? 16 : 31; }));
  EXPECT_EQ(run<int32_t>(library["loop_in_a_loop"].group(kCount), kCount, 1u), each(kCount, [](int i) {
              constexpr int kSums[] = {31, 31 + 63, 31 + 63 + 95, 31 + 63 + 95 + 127};
              return kSums[std::min(i % 32, 3)];
            }));
  EXPECT_EQ(run<int32_t>(library["calls"].group(64), kCount),
            each(kCount, [](int i) { return i / 32 % 2 == 1 ? -5 : 11; }));
}

}  // namespace
}  // namespace kymo::device::tests
