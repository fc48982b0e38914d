// References and pointers: where a change is visible, and where a value is stored.
#include "device/test_metal.h"

namespace kymo::device::tests {
namespace {

class MetalPointerTest : public MetalTest {};
KYMO_ON_EVERY_DEVICE(MetalPointerTest);

constexpr int kPointerCount = 20;

// The source says constant, and so the overload is that of constant memory, although a value is passed in registers.
TEST_P(MetalPointerTest, TheSpaceOfAnArgumentChoosesTheOverload) {
  const ShaderLibrary library = metal(R"(
struct Row { int first; int rest[3]; };
template <typename T> int space_of(device const T&) { return 1; }
template <typename T> int space_of(thread const T&) { return 2; }
template <typename T> int space_of(constant T&) { return 3; }
int space_at(device const int*) { return 10; }
int space_at(thread const int*) { return 20; }
int space_at(constant int*) { return 30; }
kernel void spaces(device int* out, constant int& value, constant Row& row, constant int* many) {
  const int copied = value;
  out[0] = space_of(value) + space_at(&value);
  out[1] = space_of(row.first) + space_at(&row.first);
  out[2] = space_of(row.rest[1]) + space_at(row.rest) + space_at(&row.rest[1]);
  out[3] = space_of(many[1]) + space_at(many);
  out[4] = space_of(copied) + space_at(&copied);
  out[5] = space_of(out[0]) + space_at(out);
}
)");
  const std::vector<int32_t> row(4);
  const Tensor out = zeros({6}, DType::I32);
  library["spaces"].threads(1)(out, 4, std::as_bytes(std::span(row)), from_host(each(2, [](int i) { return i; })));
  EXPECT_THAT(out.to_host<int32_t>(), ::testing::ElementsAre(33, 33, 63, 33, 22, 11));
}

TEST_P(MetalPointerTest, ValuesAreCopiedAndReferencesAreNot) {
  const ShaderLibrary library = metal(R"(
struct Pair { int a; int b[3]; };
void swap_them(thread int& a, thread int& b) { const int t = a; a = b; b = t; }
void by_value(Pair p) { p.a = 99; p.b[0] = 99; }
void by_reference(thread Pair& p) { p.a += 1; p.b[1] += 2; swap_them(p.b[0], p.b[2]); }
void by_pointer(thread Pair* p, int v) { p->a *= 2; (*p).b[0] -= v; p[0].b[1] ^= v; }
int total(thread const Pair& p) { return p.a + p.b[0] * 10 + p.b[1] * 100 + p.b[2] * 1000; }
thread int& pick(thread Pair& p, int k) { return p.b[k % 3]; }
Pair made(int v) { Pair p; p.a = v; for (int k = 0; k < 3; ++k) p.b[k] = v + k; return p; }
kernel void copies(device int* out, uint i [[thread_position_in_grid]]) {
  Pair p = made(int(i)), q = p;
  by_value(p);
  by_reference(p);
  by_pointer(&p, 3);
  pick(p, int(i)) += 7;
  thread int& alias = q.b[1];
  alias = 50;
  auto r = q;
  r.a = p.a;
  thread auto& same = q;
  same.a -= 4;
  out[i] = total(p) * 3 + total(q) * 5 + total(r) + made(2).b[2];
}
void add_to(device int& place, int v) { place += v; }
void fill(device int* first, int count, int v) { for (int k = 0; k < count; ++k) first[k] = v + k; }
int read(constant int& c, device const int& d) { return c * 10 + d; }
kernel void spaces(device int* out, constant int& c, device const int* in, uint i [[thread_position_in_grid]]) {
  fill(out + 3 * i, 3, int(i));
  add_to(out[3 * i], 100);
  add_to(*(out + 3 * i + 1), read(c, in[i]));
}
)");
  EXPECT_EQ(run<int32_t>(library["copies"], kPointerCount), each(kPointerCount, [](int i) {
              struct Pair {
                int a, b[3];
              } p{i, {i, i + 1, i + 2}}, q = p;
              p.a += 1;
              p.b[1] += 2;
              std::swap(p.b[0], p.b[2]);
              p.a *= 2;
              p.b[0] -= 3;
              p.b[1] ^= 3;
              p.b[i % 3] += 7;
              q.b[1] = 50;
              Pair r = q;
              r.a = p.a;
              q.a -= 4;
              const auto total = [](const Pair& x) { return x.a + x.b[0] * 10 + x.b[1] * 100 + x.b[2] * 1000; };
              return total(p) * 3 + total(q) * 5 + total(r) + 4;
            }));
  const auto in = each(kPointerCount, [](int i) { return i * i; });
  const Tensor out = zeros({3 * kPointerCount}, DType::I32);
  library["spaces"].threads(kPointerCount)(out, 4, from_host(in));
  EXPECT_EQ(out.to_host<int32_t>(), each(3 * kPointerCount, [](int n) {
              const int i = n / 3;
              return i + n % 3 + (n % 3 == 0 ? 100 : n % 3 == 1 ? 40 + i * i : 0);
            }));
}

TEST_P(MetalPointerTest, PointersAreIncrementedComparedAndSubtracted) {
  const ShaderLibrary library = metal(R"(
kernel void walk(device int* out, device const int* in, uint i [[thread_position_in_grid]]) {
  device const int* p = in + i;
  device const int* const end = in + 24;
  int sum = 0;
  while (p < end) { sum += *p++; ++p; }
  p -= 2;
  out[i] = sum * 10 + int(p - in) + (p == end) * 1000 + *(p - 3) + p[-1] + (in != p ? 5000 : 0);
}
kernel void local(device int* out, device const int* in, uint i [[thread_position_in_grid]]) {
  int values[8];
  thread int* p = values;
  for (int k = 0; k < 8; ++k) *p++ = in[i] + k * k;
  thread const int* last = &values[7];
  int sum = 0;
  for (thread const int* q = values; q <= last; q += 4) sum = sum * 3 + *q;
  p = &values[i % 8];
  *p += 1000;
  out[i] = sum + values[i % 8] + int(last - values);
}
kernel void chosen(device int* a, device int* b, uint i [[thread_position_in_grid]]) {
  device int* to = i % 2 ? a : b;
  to[i] += 1;
  if (i % 3 == 0) to = to == a ? b : a;
  to += i;
  *to += 10;
}
kernel void bytes(device uint* out, device const uint* in, uint i [[thread_position_in_grid]]) {
  device const uchar* p = reinterpret_cast<device const uchar*>(in) + 4 * i;
  device const ushort* s = (device const ushort*)(in + i);
  device const float* f = reinterpret_cast<device const float*>(in);
  out[i] = p[0] + p[1] * 3u + p[3] * 5u + s[1] * 7u + as_type<uint>(f[i]) * 11u;
}
kernel void grid(device int* out, uint i [[thread_position_in_grid]]) {
  int m[3][4];
  for (int r = 0; r < 3; ++r) for (int c = 0; c < 4; ++c) m[r][c] = r * 10 + c + int(i);
  thread int* row = m[i % 3];
  row[2] = 500;
  thread int (&other)[4] = m[(i + 1) % 3];
  other[1] += 1000;
  int sum = 0;
  for (int r = 0; r < 3; ++r) for (int c = 0; c < 4; ++c) sum = sum * 2 + m[r][c];
  out[i] = sum + int(sizeof(m) / sizeof(m[0]));
}
kernel void null(device int* out, uint i [[thread_position_in_grid]]) {
  device int* p = nullptr;
  if (i % 2) p = out + i;
  if (p) *p = 1;
  if (p == nullptr) out[i] = 2;
}
)");
  const auto in = each(24, [](int i) { return i * 3 % 17; });
  const auto at = [&](int i) { return in[static_cast<size_t>(i)]; };
  EXPECT_EQ(run<int32_t>(library["walk"], kPointerCount, in), each(kPointerCount, [&](int i) {
              int p = i, sum = 0;
              for (; p < 24; p += 2) sum += at(p);
              p -= 2;
              return sum * 10 + p + at(p - 3) + at(p - 1) + 5000;
            }));
  EXPECT_EQ(run<int32_t>(library["local"], kPointerCount, in), each(kPointerCount, [&](int i) {
              const int v = at(i), sum = v * 3 + v + 16;
              return sum + v + (i % 8) * (i % 8) + 1000 + 7;
            }));
  const Tensor a = zeros({kPointerCount}, DType::I32), b = zeros({kPointerCount}, DType::I32);
  library["chosen"](a, b);
  EXPECT_EQ(a.to_host<int32_t>(),
            each(kPointerCount, [](int i) { return (i % 2 ? 1 : 0) + ((i % 2 != 0) == (i % 3 != 0) ? 10 : 0); }));
  EXPECT_EQ(b.to_host<int32_t>(),
            each(kPointerCount, [](int i) { return (i % 2 ? 0 : 1) + ((i % 2 != 0) == (i % 3 != 0) ? 0 : 10); }));
  const auto words = each(kPointerCount, [](int i) { return 0x01020304u * static_cast<uint32_t>(i + 1); });
  EXPECT_EQ(run<uint32_t>(library["bytes"], kPointerCount, words), each(kPointerCount, [&](int i) {
              const uint32_t w = words[static_cast<size_t>(i)];
              return (w & 255) + (w >> 8 & 255) * 3 + (w >> 24) * 5 + (w >> 16) * 7 + w * 11;
            }));
  EXPECT_EQ(run<int32_t>(library["grid"], kPointerCount), each(kPointerCount, [](int i) {
              int sum = 0;
              for (int r = 0; r < 3; ++r)
                for (int c = 0; c < 4; ++c)
                  sum =
                      sum * 2 + (r == i % 3 && c == 2 ? 500 : r * 10 + c + i) + (r == (i + 1) % 3 && c == 1 ? 1000 : 0);
              return sum + 3;
            }));
  EXPECT_EQ(run<int32_t>(library["null"], kPointerCount), each(kPointerCount, [](int i) { return i % 2 ? 1 : 2; }));
}

TEST_P(MetalPointerTest, StructuresAndArraysMayContainPointers) {
  const ShaderLibrary library = metal(R"(
struct View {
  device float* data;
  uint stride;
  float at(uint k) const { return data[k * stride]; }
  void set(uint k, float v) const { data[k * stride] = v; }
};
View shifted(View v, uint by) { v.data += by; return v; }
kernel void views(device float* out, device float* in, uint i [[thread_position_in_grid]]) {
  const View from{in, 2}, to = {out, 1};
  to.set(i, from.at(i) + shifted(from, 1).at(i) * 100);
}
struct Cursor { thread int* p; int left; bool next(thread int& v) { if (left-- <= 0) return false; v = *p++; return true; } };
kernel void cursors(device int* out, uint i [[thread_position_in_grid]]) {
  int values[5] = {2, 3, 5, 7, 11};
  Cursor c{values + i % 3, 3 - int(i % 2)};
  int v = 0, sum = 0;
  while (c.next(v)) sum = sum * 13 + v;
  out[i] = sum;
}
kernel void table(device int* a, device int* b, uint i [[thread_position_in_grid]]) {
  device int* both[2] = {a, b};
  for (int k = 0; k < 2; ++k) both[k][i] = int(i) * 2 + k;
}
)");
  const auto in = each(2 * kPointerCount, [](int i) { return static_cast<float>(i); });
  EXPECT_EQ(run<float>(library["views"], kPointerCount, in),
            each(kPointerCount, [](int i) { return static_cast<float>(2 * i) + static_cast<float>(2 * i + 1) * 100; }));
  EXPECT_EQ(run<int32_t>(library["cursors"], kPointerCount), each(kPointerCount, [](int i) {
              const int values[] = {2, 3, 5, 7, 11};
              int sum = 0;
              for (int k = 0; k < 3 - i % 2; ++k) sum = sum * 13 + values[i % 3 + k];
              return sum;
            }));
  const Tensor a = zeros({kPointerCount}, DType::I32), b = zeros({kPointerCount}, DType::I32);
  library["table"](a, b);
  EXPECT_EQ(a.to_host<int32_t>(), each(kPointerCount, [](int i) { return 2 * i; }));
  EXPECT_EQ(b.to_host<int32_t>(), each(kPointerCount, [](int i) { return 2 * i + 1; }));
}

}  // namespace
}  // namespace kymo::device::tests
