// Barriers in branches: where only some threads come to them, and where all take one of two ways.
#include <utility>
#include <vector>

#include "device/test_metal.h"

namespace kymo::device::tests {
namespace {

class MetalBarrierTest : public MetalTest {};
KYMO_ON_EVERY_DEVICE(MetalBarrierTest);

// Metal requires that all threads reach a barrier. Apple's devices do not wait for those that do not, so there are
// kernels that rely on it: in a branch, after a return, in a loop whose length differs, in a function.
TEST_P(MetalBarrierTest, BarriersThatOnlySomeThreadsReach) {
  const ShaderLibrary library = metal(R"(
kernel void in_branch(device float* out, constant int& n, uint t [[thread_position_in_threadgroup]],
                      uint g [[threadgroup_position_in_grid]]) {
  float sum = 0;
  if (int(t) < n)
    for (int i = 0; i < 3; ++i) {
      threadgroup_barrier(mem_flags::mem_none);
      sum += float(i) + float(t);
    }
  sum += simd_shuffle_down(sum, 16);
  out[g * 64 + t] = sum;
}
kernel void after_return(device float* out, constant int& n, uint t [[thread_position_in_threadgroup]],
                         uint g [[threadgroup_position_in_grid]]) {
  threadgroup float s[64];
  out[g * 64 + t] = -1;
  if (int(t) >= n) return;
  s[t] = t;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[g * 64 + t] = s[n - 1 - int(t)];
}
float neighbour(threadgroup float* s, float mine, uint t, int n) {
  s[t] = mine;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const float next = s[(int(t) + 1) % n];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  return next;
}
kernel void in_function(device float* out, constant int& n, uint t [[thread_position_in_threadgroup]],
                        uint g [[threadgroup_position_in_grid]]) {
  threadgroup float s[64];
  float value = t;
  if (int(t) < n) value = neighbour(s, value, t, n) + 100;
  for (int i = 0; i < int(t) / 32; ++i) threadgroup_barrier(mem_flags::mem_threadgroup);
  out[g * 64 + t] = value;
}
)");
  constexpr int kN = 40, kSize = 64;
  const auto run = [&](const char* name) {
    const Tensor out = full({2 * kSize}, 7, DType::F32);
    library[name].threads(2 * kSize).group(kSize)(out, kN);
    return out.to_host<float>();
  };
  EXPECT_EQ(run("after_return"), each(2 * kSize, [](int i) {
              const int t = i % kSize;
              return static_cast<float>(t < kN ? kN - 1 - t : -1);
            }));
  EXPECT_EQ(run("in_function"), each(2 * kSize, [](int i) {
              const int t = i % kSize;
              return static_cast<float>(t < kN ? (t + 1) % kN + 100 : t);
            }));
  const auto sum = [](int t) { return t < kN ? 3 * t + 3 : 0; };
  const std::vector<float> sums = run("in_branch");
  for (int i = 0; i < 2 * kSize; ++i) {
    const int t = i % kSize;
    if (t % 32 >= 16) continue;
    EXPECT_EQ(sums[static_cast<size_t>(i)], static_cast<float>(sum(t) + sum(t + 16))) << i;
  }
}

// All threads take the same way, and only one of the two has a barrier.
TEST_P(MetalBarrierTest, BarriersInOneWayOfABranch) {
  const ShaderLibrary library = metal(R"(
kernel void in_else(device int* out, constant int& n, uint t [[thread_position_in_threadgroup]]) {
  if (n > 5) {
    out[t] = 1;
  } else {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t < 4) out[t] = 2;
  }
}
kernel void behind_return(device int* out, constant int& n, uint t [[thread_position_in_threadgroup]]) {
  threadgroup int s[64];
  s[t] = int(t);
  if (n > 5) {
    out[t] = 1;
    return;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (t < 4) out[t] = s[3 - t];
}
kernel void in_loop(device int* out, constant int& n, uint t [[thread_position_in_threadgroup]]) {
  threadgroup int s[64];
  int sum = 0;
  for (int k = 0; k < n; ++k) {
    if (k % 2 == 1) {
      s[t] = int(t) + k;
      threadgroup_barrier(mem_flags::mem_threadgroup);
      sum += s[63 - t];
      threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (t < 4) sum += 1000;
  }
  out[t] = sum;
}
)");
  const auto run = [&](const char* name, int n) {
    const Tensor out = full({64}, 7, DType::I32);
    library[name].threads(64).group(64)(out, n);
    return out.to_host<int32_t>();
  };
  EXPECT_EQ(run("in_else", 4), each(64, [](int t) { return t < 4 ? 2 : 7; }));
  EXPECT_EQ(run("in_else", 6), each(64, [](int) { return 1; }));
  EXPECT_EQ(run("behind_return", 4), each(64, [](int t) { return t < 4 ? 3 - t : 7; }));
  EXPECT_EQ(run("behind_return", 6), each(64, [](int) { return 1; }));
  EXPECT_EQ(run("in_loop", 4), each(64, [](int t) { return 2 * (63 - t) + 1 + 3 + (t < 4 ? 4000 : 0); }));
}

// Whole tiles are stored at once, those at the edge of a matrix by way of group memory.
TEST_P(MetalBarrierTest, BarriersOnlyInGroupsAtTheEdge) {
  const ShaderLibrary library = metal(R"(
kernel void tiles(device int* out, constant int& rows, constant int& columns,
                  uint2 group [[threadgroup_position_in_grid]], ushort t [[thread_index_in_threadgroup]],
                  ushort simd [[simdgroup_index_in_threadgroup]], ushort lane [[thread_index_in_simdgroup]]) {
  threadgroup int tile[16 * 16];
  const int top = int(group.y) * 16, left = int(group.x) * 16;
  int mine[2];
  for (int i = 0; i < 2; ++i) mine[i] = (top + (2 * t + i) / 16) * 100 + left + (2 * t + i) % 16;
  if (top + 16 <= rows && left + 16 <= columns) {
    device int* to = out + top * columns + left;
    for (int i = 0; i < 2; ++i) to[(2 * t + i) / 16 * columns + (2 * t + i) % 16] = mine[i];
  } else {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (int i = 0; i < 2; ++i) tile[2 * t + i] = mine[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (simd == 0) {
      for (int r = lane; r < min(16, rows - top); r += 32) {
        device int* to = out + (top + r) * columns + left;
        for (int c = 0; c < min(16, columns - left); ++c) to[c] = tile[r * 16 + c];
      }
    }
  }
}
)");
  for (const auto& [rows, columns] : {std::pair{16, 16}, {20, 16}, {16, 20}, {21, 37}, {1, 1}}) {
    const Tensor out = full({40 * 40}, 7, DType::I32);
    library["tiles"].threads(128 * ((columns + 15) / 16), (rows + 15) / 16).group(128, 1)(out, rows, columns);
    const int count = rows * columns, width = columns;
    EXPECT_EQ(out.to_host<int32_t>(), each(40 * 40, [&](int i) { return i < count ? i / width * 100 + i % width : 7; }))
        << rows << " x " << columns;
  }
}

// The threads of the last group have only some rows. The others return, and the rest calls a function with barriers in
// a loop, which gets a pointer into group memory.
TEST_P(MetalBarrierTest, BarriersInALoopOfSomeThreads) {
  const ShaderLibrary library = metal(R"(
void reverse(threadgroup int* row, int column, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    const int other = row[7 - column];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    row[column] = other;
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
}
kernel void rows(device int* out, constant int& n, uint3 at [[thread_position_in_grid]],
                 uint3 grid [[threads_per_grid]]) {
  threadgroup int shared[4 * 8];
  const int row = at.x * grid.y + at.y, column = at.z;
  if (row >= n) return;
  shared[at.y * 8 + column] = row * 1000 + column;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  threadgroup int* mine = &shared[at.y * 8];
  reverse(mine, column, 3);
  out[row * 8 + column] = mine[column];
}
)");
  for (const int n : {4, 5, 6, 7, 8}) {
    const Tensor out = full({64}, 7, DType::I32);
    library["rows"].threads((n + 3) / 4, 4, 8).group(1, 4, 8)(out, n);
    EXPECT_EQ(out.to_host<int32_t>(), each(64, [&](int i) { return i / 8 < n ? i / 8 * 1000 + 7 - i % 8 : 7; })) << n;
  }
}

}  // namespace
}  // namespace kymo::device::tests
