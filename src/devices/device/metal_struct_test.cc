// Structures and unions: their members, layout and functions.
#include <cstring>

#include "device/test_metal.h"

namespace kymo::device::tests {
namespace {

class MetalStructTest : public MetalTest {
 protected:
  template <class T>
  static Tensor bytes_on_device(const std::vector<T>& values) {
    std::vector<uint8_t> bytes(values.size() * sizeof(T));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return from_host(bytes);
  }
  template <class T>
  static std::vector<T> from_bytes(const Tensor& tensor) {
    const auto bytes = tensor.to_host<uint8_t>();
    std::vector<T> values(bytes.size() / sizeof(T));
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
    return values;
  }
};
KYMO_ON_EVERY_DEVICE(MetalStructTest);

constexpr int kStructCount = 20;

struct StructTestInner {
  int8_t flag;
  int16_t small[3];
};
struct StructTestRecord {
  uint8_t kind;
  int64_t wide;
  uint16_t half_bits;
  StructTestInner inner[2];
  alignas(16) float vector[4];  // a float3
  float packed[3];
  alignas(8) float pair[2];
  uint8_t truth;
};

struct StructTestAligned {
  uint8_t first;
  alignas(16) float second;
  alignas(8) uint8_t third;
  uint8_t fourth;
};

TEST_P(MetalStructTest, MembersAreAlignedAsWritten) {
  const ShaderLibrary library = metal(R"(
struct Aligned { uchar first; alignas(16) float second; alignas(8) uchar third; uchar fourth; };
kernel void k(device Aligned* out, uint i [[thread_position_in_grid]]) {
  const Aligned made = {uchar(i), i * 0.5f, uchar(i + 1), uchar(sizeof(Aligned))};
  out[i] = made;
})");
  EXPECT_EQ(library.warnings(), "");
  const Tensor out = zeros({static_cast<int64_t>(sizeof(StructTestAligned) * kStructCount)}, DType::U8);
  library["k"].threads(kStructCount)(out);
  const auto got = from_bytes<StructTestAligned>(out);
  for (uint32_t i = 0; i < kStructCount; ++i) {
    EXPECT_EQ(got[i].first, i);
    EXPECT_EQ(got[i].second, static_cast<float>(i) * 0.5f);
    EXPECT_EQ(got[i].third, i + 1);
    EXPECT_EQ(got[i].fourth, sizeof(StructTestAligned));
  }
  EXPECT_THAT(errors_of("struct S { alignas(3) int a; };\nkernel void k(device S* s) { s->a = 1; }"),
              ::testing::HasSubstr("the argument is a power of 2"));
}

TEST_P(MetalStructTest, LayoutIsTheSameAsOnTheHost) {
  const ShaderLibrary library = metal(R"(
struct Inner { char flag; short small[3]; };
struct Record {
  uchar kind; long wide; half number; Inner inner[2]; float3 vector; packed_float3 packed; float2 pair; bool truth;
};
kernel void sizes(device int* out) {
  out[0] = sizeof(Inner); out[1] = alignof(Inner); out[2] = sizeof(Record); out[3] = alignof(Record);
}
kernel void change(device Record* records, uint i [[thread_position_in_grid]]) {
  device Record& r = records[i];
  r.kind += 1;
  r.wide *= -3;
  r.number = r.number * 2.0h;
  r.inner[1].small[2] = short(r.inner[0].flag - 5);
  r.inner[0].flag = char(r.inner[1].small[0]);
  r.vector = r.vector.zxy + float3(r.packed);
  r.packed[1] = r.pair.y;
  r.pair = r.pair.yx;
  r.truth = !r.truth;
}
kernel void whole(device Record* to, device const Record* from, uint i [[thread_position_in_grid]]) {
  Record r = from[i];
  r.inner[i % 2].small[i % 3] = 77;
  to[i] = r;
}
)");
  EXPECT_EQ(run<int32_t>(library["sizes"], 4),
            (std::vector<int32_t>{sizeof(StructTestInner), alignof(StructTestInner), sizeof(StructTestRecord),
                                  alignof(StructTestRecord)}));
  std::vector<StructTestRecord> records(kStructCount);
  std::memset(static_cast<void*>(records.data()), 0, records.size() * sizeof(records[0]));
  for (int i = 0; i < kStructCount; ++i) {
    StructTestRecord& r = records[static_cast<size_t>(i)];
    const auto f = static_cast<float>(i);
    r.kind = static_cast<uint8_t>(i * 13);
    r.wide = int64_t{i} << 34;
    r.half_bits = 0x3c00;
    for (int k = 0; k < 2; ++k) {
      r.inner[k].flag = static_cast<int8_t>(i - 10 * k);
      for (int j = 0; j < 3; ++j) r.inner[k].small[j] = static_cast<int16_t>(i + k + j * 20);
    }
    for (int k = 0; k < 3; ++k) r.vector[k] = f + static_cast<float>(k);
    for (int k = 0; k < 3; ++k) r.packed[k] = f * static_cast<float>(k + 2);
    r.pair[0] = f;
    r.pair[1] = -f;
    r.truth = static_cast<uint8_t>(i % 2);
  }
  const Tensor on = bytes_on_device(records);
  library["change"].threads(kStructCount)(on);
  const Tensor copy = zeros({static_cast<int64_t>(sizeof(StructTestRecord)) * kStructCount}, DType::U8);
  library["whole"].threads(kStructCount)(copy, on);
  const auto changed = from_bytes<StructTestRecord>(on), copied = from_bytes<StructTestRecord>(copy);
  for (int i = 0; i < kStructCount; ++i) {
    SCOPED_TRACE(i);
    const StructTestRecord &before = records[static_cast<size_t>(i)], &r = changed[static_cast<size_t>(i)];
    EXPECT_EQ(r.kind, static_cast<uint8_t>(before.kind + 1));
    EXPECT_EQ(r.wide, before.wide * -3);
    EXPECT_EQ(r.half_bits, 0x4000);
    EXPECT_EQ(r.inner[1].small[2], before.inner[0].flag - 5);
    EXPECT_EQ(r.inner[1].small[1], before.inner[1].small[1]);
    EXPECT_EQ(r.inner[0].flag, static_cast<int8_t>(before.inner[1].small[0]));
    for (int k = 0; k < 3; ++k) EXPECT_EQ(r.vector[k], before.vector[(k + 2) % 3] + before.packed[k]);
    EXPECT_EQ(r.packed[1], before.pair[1]);
    EXPECT_EQ(r.packed[2], before.packed[2]);
    EXPECT_EQ(r.pair[0], before.pair[1]);
    EXPECT_EQ(r.truth, 1 - i % 2);
    const StructTestRecord& c = copied[static_cast<size_t>(i)];
    EXPECT_EQ(c.wide, r.wide);
    EXPECT_EQ(c.inner[i % 2].small[i % 3], 77);
    EXPECT_EQ(c.inner[(i + 1) % 2].small[i % 3], r.inner[(i + 1) % 2].small[i % 3]);
    EXPECT_EQ(c.vector[1], r.vector[1]);
    EXPECT_EQ(c.truth, r.truth);
  }
}

TEST_P(MetalStructTest, MembersFunctionsAndConstructors) {
  const ShaderLibrary library = metal(R"(
struct Counter {
  int count = 3;
  int step;
  Counter() : step(2) {}
  explicit Counter(int s) : count(10), step(s) {}
  Counter(int c, int s) : count(c), step(s) { if (step == 0) step = 1; }
  void advance() { count += step; }
  void advance(int times) { for (int k = 0; k < times; ++k) advance(); }
  int peek() const { return count; }
  thread Counter& twice() { this->count *= 2; return *this; }
  static int zero() { return kZero; }
  static constexpr constant int kZero = 41;
};
kernel void counters(device int* out, uint i [[thread_position_in_grid]]) {
  Counter a, b(int(i)), c(5, 0), d = Counter(1, int(i)), e{7, 9};
  a.advance(); b.advance(3); c.advance(int(i)); d.twice().twice().advance();
  const Counter f = b;
  b.advance();
  out[i] = a.peek() + b.peek() * 2 + c.peek() * 3 + d.peek() * 5 + e.peek() + f.peek() * 7 + Counter::zero() + Counter::kZero + Counter(3).peek();
}
struct Plain { int a; float b[2]; struct { int x, y; } at; };
kernel void braces(device float* out, uint i [[thread_position_in_grid]]) {
  Plain p = {int(i), {1.5f, 2.5f}, {3, 4}}, q = {5}, r{}, many[2] = {{1, {2, 3}, {4, 5}}, p};
  q.at.y += 2;
  r = many[i % 2];
  out[i] = p.a + p.b[1] * 10 + p.at.y * 100 + q.a + q.b[0] + q.at.y * 3 + r.b[0] * 1000 + r.at.x;
}
struct Base { int a = 1; int sum() const { return a; } int scaled(int k) const { return a * k; } };
struct Derived : Base { int b = 2; int sum() const { return Base::sum() + b; } };
struct Last : public Derived { Last(int v) { a = v; b = v * 2; } };
int base_of(thread const Base& base) { return base.a; }
kernel void inherits(device int* out, uint i [[thread_position_in_grid]]) {
  Derived d;
  Last l(int(i));
  l.a += 5;
  out[i] = d.sum() + l.sum() * 10 + l.scaled(3) * 100 + base_of(l) * 1000;
}
)");
  EXPECT_EQ(run<int32_t>(library["counters"], kStructCount), each(kStructCount, [](int i) {
              const int a = 5, b = 10 + 3 * i, c = 5 + i, d = 4 + (i == 0 ? 1 : i), e = 7;
              return a + (b + i) * 2 + c * 3 + d * 5 + e + b * 7 + 41 + 41 + 10;
            }));
  EXPECT_EQ(run<float>(library["braces"], kStructCount), each(kStructCount, [](int i) {
              const float rest = static_cast<float>(i) + 25 + 400 + 5 + 0 + 6;
              return i % 2 ? rest + 1500 + 3 : rest + 2000 + 4;
            }));
  EXPECT_EQ(run<int32_t>(library["inherits"], kStructCount),
            each(kStructCount, [](int i) { return 3 + (i + 5 + 2 * i) * 10 + (i + 5) * 300 + (i + 5) * 1000; }));
}

TEST_P(MetalStructTest, StructuresMayDefineOperators) {
  const ShaderLibrary library = metal(R"(
struct Complex {
  float re, im;
  Complex(float r = 0, float i = 0) : re(r), im(i) {}
  Complex operator+(Complex o) const { return {re + o.re, im + o.im}; }
  Complex operator-() const { return Complex(-re, -im); }
  thread Complex& operator*=(thread const Complex& o) thread { const float r = re * o.re - im * o.im; im = re * o.im + im * o.re; re = r; return *this; }
  thread Complex& operator++() thread { re += 1; return *this; }
  Complex operator++(int) thread { Complex old = *this; ++*this; return old; }
  bool operator==(Complex o) const { return re == o.re && im == o.im; }
  float operator[](int k) const { return k == 0 ? re : im; }
  float operator()(float x) const { return re * x + im; }
  explicit operator bool() const { return re != 0 || im != 0; }
  operator float() const { return re; }
};
Complex operator*(Complex a, Complex b) { a *= b; return a; }
Complex operator-(Complex a, Complex b) { return a + -b; }
bool operator<(Complex a, Complex b) { return a.re < b.re; }
kernel void compute(device float* out, uint i [[thread_position_in_grid]]) {
  Complex a(float(i), 1), b = Complex(2, -1), c;
  Complex d = a * b + a - b;
  const Complex old = d++;
  ++d;
  c = d;
  const float as_number = a;
  device float* o = out + 8 * i;
  o[0] = d.re; o[1] = d.im; o[2] = old[0] + old[1] * 100; o[3] = (-b)(3); o[4] = (c == d) + (a < b) * 2 + (Complex() ? 4 : 0) + (a ? 8 : 0);
  o[5] = as_number; o[6] = (a * b * b)[1]; o[7] = Complex(3).re;
}
)");
  const Tensor out = zeros({8 * kStructCount});
  library["compute"].threads(kStructCount)(out);
  std::vector<float> wanted;
  for (int i = 0; i < kStructCount; ++i) {
    const auto f = static_cast<float>(i);
    const float pr = f * 2 + 1, pi = -f + 2, re = pr + f - 2, im = pi + 1 + 1;
    wanted.insert(wanted.end(),
                  {re + 2, im, re + im * 100, -2.0f * 3 + 1, 1.0f + (f < 2 ? 2.0f : 0.0f) + 8, f, -pr + pi * 2, 3});
  }
  EXPECT_EQ(out.to_host<float>(), wanted);
}

TEST_P(MetalStructTest, UnionsShareTheirBytes) {
  const ShaderLibrary library = metal(R"(
union Bits { float f; uint u; int i; };
union Wide { ulong whole; uint2 parts; };
struct Tagged { int kind; Bits bits; };
kernel void look(device uint* out, device const float* in, uint i [[thread_position_in_grid]]) {
  Bits b;
  b.f = in[i];
  b.u ^= 0x80000000u;
  const float negated = b.f;
  Wide w;
  w.whole = 0x1122334455667788ul + i;
  w.parts.y += 1;
  Tagged t = {1, b};
  t.bits.i += 1;
  out[i] = as_type<uint>(negated) + uint(w.whole >> 32) * 3 + w.parts.x * 5 + t.bits.u * 7 + uint(t.kind) + uint(sizeof(Wide)) * 1000;
}
)");
  const auto in = each(kStructCount, [](int i) { return static_cast<float>(i) * 1.7f - 3; });
  EXPECT_EQ(run<uint32_t>(library["look"], kStructCount, in), each(kStructCount, [&](int i) {
              const uint32_t bits = std::bit_cast<uint32_t>(in[static_cast<size_t>(i)]) ^ 0x80000000u;
              return bits + 0x11223345u * 3 + (0x55667788u + static_cast<uint32_t>(i)) * 5 + (bits + 1) * 7 + 1 + 8000;
            }));
}

TEST_P(MetalStructTest, StructureMayBeAssignedFromItsOwnMembers) {
  const ShaderLibrary library = metal(R"(
struct Point { float x, y; };
Point next(float x, float by) { return {x * x + by, x}; }
kernel void walk(device float* out, uint i [[thread_position_in_grid]]) {
  Point p = {1, 0};
  for (uint k = 0; k < i; ++k) p = next(p.x, p.y);
  out[i] = p.x * p.y + 1;
}
)");
  EXPECT_EQ(run<float>(library["walk"], 5), each(5, [](int i) {
              float x = 1, y = 0;
              for (int k = 0; k < i; ++k) {
                const float before = x;
                x = x * x + y;
                y = before;
              }
              return x * y + 1;
            }));
}

TEST_P(MetalStructTest, GroupMemoryMayHoldStructures) {
  const ShaderLibrary library = metal(R"(
struct Cell { float weight; int index; short tag; uchar flag; };
void put(threadgroup Cell& cell, float w, int i) { cell.weight = w; cell.index = i; cell.tag = short(i * 3); cell.flag = uchar(i); }
float take(threadgroup const Cell* cells, uint k) { return cells[k].weight + cells[k].index + cells[k].tag + cells[k].flag; }
kernel void exchange(device float* out, uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]]) {
  threadgroup Cell cells[8];
  threadgroup int last;
  put(cells[t], float(i) * 0.5f, int(t));
  if (t == 7) last = int(i);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const Cell whole = cells[(t + 1) % 8];
  out[i] = take(cells, 7 - t) * 1000 + whole.weight + last;
}
)");
  const Tensor out = zeros({32});
  library["exchange"].threads(32).group(8)(out);
  EXPECT_EQ(out.to_host<float>(), each(32, [](int i) {
              const int first = i / 8 * 8, t = i % 8, other = 7 - t;
              const float taken = static_cast<float>(first + other) * 0.5f + static_cast<float>(other * 5);
              return taken * 1000 + static_cast<float>(first + (t + 1) % 8) * 0.5f + static_cast<float>(first + 7);
            }));
}

}  // namespace
}  // namespace kymo::device::tests
