// Pointers that point to one variable and later to another, or to another member.
#include <algorithm>

#include "device/test_metal.h"

namespace kymo::device::tests {
namespace {

class MetalTwoPointerTest : public MetalTest {};
KYMO_ON_EVERY_DEVICE(MetalTwoPointerTest);

constexpr int kTwoCount = 24;

TEST_P(MetalTwoPointerTest, APointerIsAssignedAgain) {
  const ShaderLibrary library = metal(R"(
float ratio(float x, const float num[], const float den[], int count) {
  thread const float* p;
  int step;
  if (x > 5) { p = num + count - 1; step = -1; } else { p = num; step = 1; }
  float a = 0, b = 0;
  for (int k = 0; k < count; ++k, p += step) a = a * x + *p;
  if (x > 5) { p = den + count - 1; step = -1; } else { p = den; step = 1; }
  for (int k = 0; k < count; ++k, p += step) b = b * x + *p;
  return a * 1000 + b;
}
kernel void ratios(device float* out, uint i [[thread_position_in_grid]]) {
  const float num[3] = {1, 2, 3};
  float den[4] = {4, 5, 6, 7};
  den[0] += 1;
  out[i] = ratio(i % 10, num, den, 3);
}
)");
  EXPECT_EQ(run<float>(library["ratios"], kTwoCount), each(kTwoCount, [](int i) {
              const int x = i % 10;
              const int a = x > 5 ? (3 * x + 2) * x + 1 : (1 * x + 2) * x + 3;
              const int b = x > 5 ? (6 * x + 5) * x + 5 : (5 * x + 5) * x + 6;
              return static_cast<float>(a * 1000 + b);
            }));
}

TEST_P(MetalTwoPointerTest, VariablesOfEveryTypeKeepTheirValues) {
  const ShaderLibrary library = metal(R"(
struct Both { char first; float4 middle; short list[3]; bool on; };
template <typename T> thread T& pick(bool second, thread T& a, thread T& b) { return second ? b : a; }
kernel void types(device float* out, uint i [[thread_position_in_grid]]) {
  const bool odd = i % 2 == 1;
  char c = 1, d = 2;
  pick(odd, c, d) += 10;
  half2 h[2] = {half2(1, 2), half2(3, 4)}, g = half2(5, 6);
  thread half2* v = odd ? &g : h + 1;
  v->y = 40;
  Both x = {}, y = {3, float4(1, 2, 3, 4), {5, 6, 7}, true};
  thread Both* w = &x;
  if (odd) w = &y;
  w->middle.z += 100;
  w->list[i % 3] -= 2;
  w->on = !w->on;
  const Both copy = odd ? x : *w;
  long l = 1l << 40, m = 5;
  thread long* n = &l;
  for (uint k = 0; k < i; ++k) { *n += 3; n = n == &l ? &m : &l; }
  out[i] = c + d * 100 + float(h[1].y) + float(g.y) + x.middle.z + y.middle.z + x.list[i % 3] * 7 + y.list[i % 3] * 11 + x.on * 1000 + y.on * 2000
         + copy.first + copy.list[0] + float(l - (1l << 40)) * 3 + float(m) * 5;
}
)");
  EXPECT_EQ(run<float>(library["types"], kTwoCount), each(kTwoCount, [](int i) {
              const bool odd = i % 2 == 1;
              int x_list[3] = {}, y_list[3] = {5, 6, 7};
              (odd ? y_list : x_list)[i % 3] -= 2;
              const int l = 3 * ((i + 1) / 2), m = 5 + 3 * (i / 2);
              const int sum = (odd ? 1 : 11) + (odd ? 12 : 2) * 100 + (odd ? 4 : 40) + (odd ? 40 : 6) +
                              (odd ? 0 : 100) + (odd ? 103 : 3) + x_list[i % 3] * 7 + y_list[i % 3] * 11 +
                              (odd ? 0 : 1000) + (odd ? 0 : 2000) + x_list[0] + l * 3 + m * 5;
              return static_cast<float>(sum);
            }));
}

TEST_P(MetalTwoPointerTest, PointersToDifferentMembers) {
  const ShaderLibrary library = metal(R"(
struct Inner { int a; int list[4]; };
struct Outer { int first; Inner one, two; int last; };
kernel void members(device int* out, uint i [[thread_position_in_grid]]) {
  Outer o = {1, {2, {3, 4, 5, 6}}, {7, {8, 9, 10, 11}}, 12};
  thread int* p = i % 3 == 0 ? &o.first : i % 3 == 1 ? (i % 2 == 0 ? &o.one : &o.two)->list + i % 4 : &o.last;
  *p += 100;
  thread int* const places[] = {&o.last, &o.two.a};
  *places[i % 2] *= 2;
  int sum = o.first + o.last * 2 + o.two.a * 3;
  for (int k = 0; k < 4; ++k) sum += (o.one.list[k] + 2 * o.two.list[k]) * (k + 1);
  out[i] = sum;
}
)");
  EXPECT_EQ(run<int32_t>(library["members"], kTwoCount), each(kTwoCount, [](int i) {
              int first = 1, last = 12, a = 7, list[2][4] = {{3, 4, 5, 6}, {8, 9, 10, 11}};
              (i % 3 == 0 ? first : i % 3 == 1 ? list[i % 2][i % 4] : last) += 100;
              (i % 2 == 0 ? last : a) *= 2;
              int sum = first + last * 2 + a * 3;
              for (int k = 0; k < 4; ++k) sum += (list[0][k] + 2 * list[1][k]) * (k + 1);
              return sum;
            }));
}

// Two arrays in turn: each step reads one and writes the other.
TEST_P(MetalTwoPointerTest, ASumOfPrefixesInTwoArraysOfGroupMemory) {
  const ShaderLibrary library = metal(R"(
kernel void prefixes(device const int* in, device int* out, uint i [[thread_position_in_threadgroup]], uint n [[threads_per_threadgroup]]) {
  threadgroup int a[64];
  threadgroup short b_small[2];
  threadgroup int b[64];
  threadgroup int* from = a;
  threadgroup int* to = b;
  from[i] = in[i];
  if (i < 2) b_small[i] = short(i);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint step = 1; step < n; step *= 2) {
    to[i] = from[i] + (i >= step ? from[i - step] : 0);
    threadgroup int* t = from;
    from = to;
    to = t;
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  out[i] = from[i] + b_small[1];
}
)");
  const std::vector<int32_t> in = each(64, [](int i) { return i * i; });
  const Tensor out = zeros({64}, DType::I32);
  library["prefixes"].threads(64).group(64)(from_host(in), out);
  int sum = 0;
  EXPECT_EQ(out.to_host<int32_t>(), each(64, [&](int i) { return (sum += i * i) + 1; }));
}

TEST_P(MetalTwoPointerTest, ManyVariablesInOneLoop) {
  const ShaderLibrary library = metal(R"(
kernel void sorted(device int* out, uint i [[thread_position_in_grid]]) {
  int a = i * 7 % 5, b = i * 3 % 11, c = i % 4, d = i * 5 % 9, e = i % 6, f = i * 2 % 7;
  thread int* list[6] = {&a, &b, &c, &d, &e, &f};
  for (int k = 0; k < 6; ++k)
    for (int j = 0; j < 5; ++j)
      if (*list[j] > *list[j + 1]) { thread int* t = list[j]; list[j] = list[j + 1]; list[j + 1] = t; }
  int digits = 0;
  for (int k = 0; k < 6; ++k) digits = digits * 11 + *list[k];
  out[i] = digits;
}
)");
  EXPECT_EQ(run<int32_t>(library["sorted"], kTwoCount), each(kTwoCount, [](int i) {
              std::vector<int> list = {i * 7 % 5, i * 3 % 11, i % 4, i * 5 % 9, i % 6, i * 2 % 7};
              std::sort(list.begin(), list.end());
              int digits = 0;
              for (const int each : list) digits = digits * 11 + each;
              return digits;
            }));
}

}  // namespace
}  // namespace kymo::device::tests
