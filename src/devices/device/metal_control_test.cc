// Control flow: loops, branches, jumps, and the order of side effects.
#include <numeric>

#include "device/test_metal.h"

namespace kymo::device::tests {
namespace {

class MetalControlTest : public MetalTest {};
KYMO_ON_EVERY_DEVICE(MetalControlTest);

constexpr int kCount = 40;

TEST_P(MetalControlTest, Loops) {
  const ShaderLibrary library = metal(R"(
kernel void for_with_continue(device int* out, uint i [[thread_position_in_grid]]) {
  int sum = 0;
  for (int k = 0; k < int(i); ++k) {
    if (k % 3 == 1) continue;
    if (k > 30) break;
    sum += k;
  }
  out[i] = sum;
}
kernel void while_with_effects(device int* out, uint i [[thread_position_in_grid]]) {
  int n = int(i), steps = 0;
  while (n-- > 0 && steps < 20) {
    if (n & 1) continue;
    ++steps;
  }
  out[i] = steps * 100 + n;
}
kernel void do_with_continue(device int* out, uint i [[thread_position_in_grid]]) {
  int n = 0, sum = 0;
  do {
    ++n;
    if (n % 2 == 0) continue;
    sum += n;
  } while (n < int(i));
  out[i] = sum;
}
kernel void nested_breaks(device int* out, uint i [[thread_position_in_grid]]) {
  int found = -1;
  for (int a = 1; a < 40; ++a) {
    int b = 1;
    for (;; b += 2) {
      if (a * b >= int(i)) break;
    }
    if (a * b == int(i)) {
      found = a * 100 + b;
      break;
    }
  }
  out[i] = found;
}
kernel void two_counters(device int* out, uint i [[thread_position_in_grid]]) {
  int sum = 0;
  for (int a = 0, b = int(i); a < b; ++a, --b) sum += a * b;
  out[i] = sum;
}
kernel void over_an_array(device int* out, uint i [[thread_position_in_grid]]) {
  int values[5] = {3, 1, 4, 1, 5};
  for (thread int& v : values) v += int(i);
  int sum = 0;
  for (int v : values) {
    if (v == 5) continue;
    sum = sum * 3 + v;
  }
  out[i] = sum;
}
)");
  EXPECT_EQ(run<int32_t>(library["for_with_continue"], kCount), each(kCount, [](int i) {
              int sum = 0;
              for (int k = 0; k < i; ++k) sum += k % 3 == 1 || k > 30 ? 0 : k;
              return sum;
            }));
  EXPECT_EQ(run<int32_t>(library["while_with_effects"], kCount), each(kCount, [](int i) {
              int n = i, steps = 0;
              while (n-- > 0 && steps < 20) steps += n & 1 ? 0 : 1;
              return steps * 100 + n;
            }));
  EXPECT_EQ(run<int32_t>(library["do_with_continue"], kCount), each(kCount, [](int i) {
              int n = 0, sum = 0;
              do {
                ++n;
                sum += n % 2 == 0 ? 0 : n;
              } while (n < i);
              return sum;
            }));
  EXPECT_EQ(run<int32_t>(library["nested_breaks"], kCount), each(kCount, [](int i) {
              for (int a = 1; a < 40; ++a) {
                int b = 1;
                while (a * b < i) b += 2;
                if (a * b == i) return a * 100 + b;
              }
              return -1;
            }));
  EXPECT_EQ(run<int32_t>(library["two_counters"], kCount), each(kCount, [](int i) {
              int sum = 0;
              for (int a = 0, b = i; a < b; ++a, --b) sum += a * b;
              return sum;
            }));
  EXPECT_EQ(run<int32_t>(library["over_an_array"], kCount), each(kCount, [](int i) {
              int sum = 0;
              for (const int v : {3, 1, 4, 1, 5}) sum = v + i == 5 ? sum : sum * 3 + v + i;
              return sum;
            }));
}

TEST_P(MetalControlTest, CallsOfItselfAtTheEnd) {
  const ShaderLibrary library = metal(R"(
uint gcd(uint a, uint b) {
  if (b == 0) return a;
  return gcd(b, a % b);
}
struct Walk {
  int at = 0, outer = 0;
  void next(int n, const constant int* sizes) {
    at += n;
    if (at >= sizes[0]) {
      int extra = at - sizes[0];
      outer += 1;
      at = 0;
      if (extra > 0) next(extra, sizes);
    }
  }
};
int pick(int n, int sum) {
  switch (n % 3) {
    case 0: return n == 0 ? sum : pick(n - 1, sum * 3);
    case 1: { int more = sum + n; return pick(n - 1, more); }
    default: break;
  }
  return pick(n - 2, sum + 1);
}
kernel void divisors(device uint* out, uint i [[thread_position_in_grid]]) { out[i] = gcd(i * 6, 100 - i); }
kernel void walk(device int* out, constant int& size, uint i [[thread_position_in_grid]]) {
  Walk w;
  w.next(int(i), &size);
  out[i] = w.outer * 100 + w.at;
}
kernel void picked(device int* out, uint i [[thread_position_in_grid]]) { out[i] = pick(int(i), 1); }
)");
  EXPECT_EQ(run<uint32_t>(library["divisors"], kCount),
            each(kCount, [](int i) { return static_cast<uint32_t>(std::gcd(i * 6, 100 - i)); }));
  EXPECT_EQ(run<int32_t>(library["walk"], kCount, 7), each(kCount, [](int i) { return i / 7 * 100 + i % 7; }));
  EXPECT_EQ(run<int32_t>(library["picked"], kCount), each(kCount, [](int i) {
              uint32_t sum = 1;
              for (int n = i; n != 0;) {
                sum = n % 3 == 0 ? sum * 3 : sum + (n % 3 == 1 ? static_cast<uint32_t>(n) : 1);
                n -= n % 3 == 2 ? 2 : 1;
              }
              return static_cast<int32_t>(sum);
            }));
}

// Threads leave a loop in different iterations. Each thread keeps its values after the loop.
TEST_P(MetalControlTest, LoopResultsAreKeptAfterTheLoop) {
  const ShaderLibrary library = metal(R"(
kernel void search(device uint* out, device const uint* in, uint i [[thread_position_in_grid]]) {
  uint found;
  for (uint k = i;; ++k) {
    found = in[k % 40u];
    if (found % 3u == 0u) break;
  }
  out[i] = found;
}
kernel void repeat(device uint* out, device const uint* in, uint i [[thread_position_in_grid]]) {
  uint product, x = in[i];
  do {
    product = x * 5u;
    x = product + 1u;
  } while (x % 3u != 0u);
  out[i] = product;
}
kernel void repeat_searches(device uint* out, device const uint* in, uint i [[thread_position_in_grid]]) {
  uint x = in[i];
  int turns = 0;
  do {
    uint found;
    for (uint k = x;; ++k) {
      found = in[k % 40u] + x;
      if (found % 5u < 3u) break;
      x = x * 5u + 296u;
    }
    x = (x + 1u) ^ found;
  } while (++turns < 4 && x % 2u != 0u);
  out[i] = x;
}
uint leave(uint x) {
  while (true) {
    const uint product = x * 5u;
    x = product + 1u;
    if (x % 3u == 0u) return product;
  }
}
kernel void leave_by_return(device uint* out, device const uint* in, uint i [[thread_position_in_grid]]) {
  out[i] = leave(in[i]);
}
)");
  const auto in = each(kCount, [](int i) { return static_cast<uint32_t>(i) * 7 + 1; });
  const auto product = [](uint32_t x) {
    while ((x * 5 + 1) % 3 != 0) x = x * 5 + 1;
    return x * 5;
  };
  EXPECT_EQ(run<uint32_t>(library["search"], kCount, in), each(kCount, [&](int i) {
              while (in[static_cast<size_t>(i % kCount)] % 3 != 0) ++i;
              return in[static_cast<size_t>(i % kCount)];
            }));
  EXPECT_EQ(run<uint32_t>(library["repeat_searches"], kCount, in), each(kCount, [&](int i) {
              uint32_t x = in[static_cast<size_t>(i)];
              int turns = 0;
              do {
                uint32_t k = x, found = in[k % kCount] + x;
                for (; found % 5 >= 3; found = in[++k % kCount] + x) x = x * 5 + 296;
                x = (x + 1) ^ found;
              } while (++turns < 4 && x % 2 != 0);
              return x;
            }));
  const auto products = each(kCount, [&](int i) { return product(in[static_cast<size_t>(i)]); });
  EXPECT_EQ(run<uint32_t>(library["repeat"], kCount, in), products);
  EXPECT_EQ(run<uint32_t>(library["leave_by_return"], kCount, in), products);
}

TEST_P(MetalControlTest, Branches) {
  const ShaderLibrary library = metal(R"(
kernel void fall_through(device int* out, uint i [[thread_position_in_grid]]) {
  int r = 0;
  switch (i % 7) {
    case 0:
      r += 1;
    case 1:
    case 2:
      r += 10;
      break;
    case 3: {
      int local = 5;
      r += local;
      break;
    }
    default:
      r += 100;
    case 5:
      r += 1000;
  }
  out[i] = r;
}
kernel void switch_in_loop(device int* out, uint i [[thread_position_in_grid]]) {
  int sum = 0;
  for (int k = 0; k < int(i); ++k) {
    switch (k & 3) {
      case 0: continue;
      case 1: sum += 1; break;
      case 2: sum += k; break;
      default: if (k > 20) return;
    }
    sum += 100;
    out[i] = sum;
  }
}
kernel void early_return(device int* out, uint i [[thread_position_in_grid]]) {
  out[i] = -1;
  if (i < 3) return;
  if (i % 2 == 0) {
    out[i] = 2;
    return;
  } else if (i % 3 == 0) {
    out[i] = 3;
  }
}
int classify(int x) {
  if (x < 5) return 0;
  for (int k = 5; k < 10; ++k)
    if (x == k) return k;
  return x > 20 ? 20 : 10;
}
kernel void returns_from_inside(device int* out, uint i [[thread_position_in_grid]]) { out[i] = classify(int(i)); }
kernel void declared_in_condition(device int* out, uint i [[thread_position_in_grid]]) {
  if (int k = int(i) % 4) out[i] = k; else out[i] = -7;
  if (int k = int(i); k > 30) out[i] += k;
}
)");
  EXPECT_EQ(run<int32_t>(library["fall_through"], kCount), each(kCount, [](int i) {
              const int results[] = {11, 10, 10, 5, 1100, 1000, 1100};
              return results[i % 7];
            }));
  EXPECT_EQ(run<int32_t>(library["switch_in_loop"], kCount), each(kCount, [](int i) {
              int sum = 0, last = 0;
              for (int k = 0; k < i; ++k) {
                if ((k & 3) == 0) continue;
                if ((k & 3) == 3 && k > 20) return last;
                sum += (k & 3) == 1 ? 1 : (k & 3) == 2 ? k : 0;
                sum += 100;
                last = sum;
              }
              return last;
            }));
  EXPECT_EQ(run<int32_t>(library["early_return"], kCount), each(kCount, [](int i) {
              return i < 3 ? -1 : i % 2 == 0 ? 2 : i % 3 == 0 ? 3 : -1;
            }));
  EXPECT_EQ(run<int32_t>(library["returns_from_inside"], kCount), each(kCount, [](int i) {
              return i < 5 ? 0 : i < 10 ? i : i > 20 ? 20 : 10;
            }));
  EXPECT_EQ(run<int32_t>(library["declared_in_condition"], kCount),
            each(kCount, [](int i) { return (i % 4 != 0 ? i % 4 : -7) + (i > 30 ? i : 0); }));
}

TEST_P(MetalControlTest, SideEffectsHappenInOrderAndOnlyWhenEvaluated) {
  const ShaderLibrary library = metal(R"(
int bump(thread int& counter, int result) { ++counter; return result; }
kernel void short_circuit(device int* out, uint i [[thread_position_in_grid]]) {
  int calls = 0;
  bool a = i > 10 && bump(calls, int(i)) > 20;
  bool b = i < 5 || bump(calls, 1) == int(i) - 6;
  out[i] = calls * 4 + (a ? 1 : 0) + (b ? 2 : 0);
}
kernel void one_side(device int* out, uint i [[thread_position_in_grid]]) {
  int calls = 0, others = 0;
  int v = i % 2 ? bump(calls, 10) : bump(others, 20);
  out[i] = v + calls * 100 + others * 1000;
}
kernel void assignments(device int* out, uint i [[thread_position_in_grid]]) {
  int a[4] = {0, 0, 0, 0}, k = 0;
  a[k++] = int(i);
  a[k++] += 5;
  int x, y;
  x = y = k++;
  a[k] = (x += 2, x * y);
  int old = k--;
  out[i] = a[0] + a[1] * 10 + a[3] * 100 + old * 10000 + k * 100000;
}
kernel void compound(device int* out, uint i [[thread_position_in_grid]]) {
  int v = int(i) + 1;
  v *= 7; v -= 3; v /= 2; v %= 50; v <<= 2; v |= 1; v ^= 0x15; v &= 0xff; v >>= 1;
  out[i] = v;
}
kernel void read_before_change(device int* out, uint i [[thread_position_in_grid]]) {
  int n = int(i);
  int before = n;
  int sum = before + (n += 3);
  out[i] = sum * 100 + n;
}
)");
  EXPECT_EQ(run<int32_t>(library["short_circuit"], kCount), each(kCount, [](int i) {
              const int calls = (i > 10 ? 1 : 0) + (i < 5 ? 0 : 1);
              return calls * 4 + (i > 20 ? 1 : 0) + (i < 5 || i == 7 ? 2 : 0);
            }));
  EXPECT_EQ(run<int32_t>(library["one_side"], kCount), each(kCount, [](int i) { return i % 2 ? 110 : 1020; }));
  EXPECT_EQ(run<int32_t>(library["assignments"], kCount),
            each(kCount, [](int i) { return i + 50 + (4 * 2) * 100 + 3 * 10000 + 2 * 100000; }));
  EXPECT_EQ(run<int32_t>(library["compound"], kCount), each(kCount, [](int i) {
              int v = i + 1;
              v = (v * 7 - 3) / 2 % 50;
              return (((v << 2 | 1) ^ 0x15) & 0xff) >> 1;
            }));
  EXPECT_EQ(run<int32_t>(library["read_before_change"], kCount),
            each(kCount, [](int i) { return (i + i + 3) * 100 + i + 3; }));
}

TEST_P(MetalControlTest, LoopsWithPragmas) {
  const ShaderLibrary library = metal(R"metal(
kernel void sums(device int* out, constant int& n, uint i [[thread_position_in_grid]]) {
  int sum = 0, part[8];
#pragma unroll
  for (int k = 0; k < 8; ++k) part[k] = k * int(i);
#pragma unroll 4
  for (int k = 0; k < n; ++k) {
    if (k == 5) continue;
    sum += part[k % 8];
  }
#pragma clang loop unroll(disable)
  for (int k = 0; k < 3; ++k) sum += k;
  _Pragma("clang loop unroll(full)") for (int k = 7; k >= 0 && part[k] != 3; --k) ++sum;
  out[i] = sum;
})metal");
  EXPECT_EQ(run<int>(library["sums"], 4, 11), each(4, [](int i) {
              int sum = 3;
              for (int k = 0; k < 11; ++k) sum += k == 5 ? 0 : k % 8 * i;
              for (int k = 7; k >= 0 && k * i != 3; --k) ++sum;
              return sum;
            }));
}

}  // namespace
}  // namespace kymo::device::tests
