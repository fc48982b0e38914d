// Numbers: literals, conversions between types, rounding.
#include "device/test_metal.h"

namespace kymo::device::tests {
namespace {

class MetalTypesTest : public MetalTest {};
KYMO_ON_EVERY_DEVICE(MetalTypesTest);

constexpr int kTypesCount = 32;

TEST_P(MetalTypesTest, LiteralsHaveTheRightTypeAndValue) {
  const ShaderLibrary library = metal(R"(
kernel void whole(device long* out) {
  out[0] = 0x7fL; out[1] = 017; out[2] = 0b1011; out[3] = 1'000'000; out[4] = 'a'; out[5] = '\n'; out[6] = '\x41';
  out[7] = 4294967295u; out[8] = 3000000000; out[9] = 0xffffffff; out[10] = 9223372036854775807l;
  out[11] = long(18446744073709551615ul); out[12] = -2147483648; out[13] = true; out[14] = 0xDEADBEEFul; out[15] = '\0';
}
kernel void real(device float* out) {
  out[0] = 1.5; out[1] = .5f; out[2] = 2.; out[3] = 1e3; out[4] = 1.25e-2f; out[5] = 0x1.8p3; out[6] = 1.0h / 3.0h;
  out[7] = 0.1 + 0.2; out[8] = 1.0 / 3.0; out[9] = 16777216.0 + 1.0 + 1.0; out[10] = 3.4028234e38; out[11] = 1e-10F;
  out[12] = 0x10p-4f; out[13] = 2.5H;
}
kernel void sizes(device int* out) {
  out[0] = sizeof(1.0); out[1] = sizeof(1.0h); out[2] = sizeof(1); out[3] = sizeof(3000000000); out[4] = sizeof(1u);
  out[5] = sizeof('a'); out[6] = sizeof(true); out[7] = sizeof(1l); out[8] = sizeof(0xffffffff);
  out[9] = sizeof(char(1) + char(1)); out[10] = sizeof(half(1) + half(1)); out[11] = sizeof(half(1) + 1.0f);
  out[12] = sizeof(1 + 1l); out[13] = sizeof(ushort(1) << 1); out[14] = sizeof(bool(1) + bool(1)); out[15] = sizeof(half(1) + 1);
}
)");
  EXPECT_EQ(run<int64_t>(library["whole"], 16),
            (std::vector<int64_t>{127, 15, 11, 1000000, 97, 10, 65, 4294967295, 3000000000, 4294967295,
                                  9223372036854775807, -1, -2147483648ll, 1, 0xDEADBEEF, 0}));
  volatile float one = 1, tenth = 0.1f, fifth = 0.2f;  // volatile: the host must compute in float, not at compile time
  EXPECT_EQ(run<float>(library["real"], 14),
            (std::vector<float>{1.5f, 0.5f, 2, 1000, 0.0125f, 12, 0.333251953125f, tenth + fifth, one / 3, 16777216.0f,
                                3.4028234e38f, 1e-10f, 1, 2.5f}));
  EXPECT_EQ(run<int32_t>(library["sizes"], 16), (std::vector<int32_t>{4, 2, 4, 8, 4, 1, 1, 8, 4, 4, 2, 4, 8, 4, 4, 2}));
}

TEST_P(MetalTypesTest, TypesHaveTheRightSizesAndLimits) {
  const ShaderLibrary library = metal(R"(
kernel void sizes(device int* out) {
  int n = 0;
  out[n++] = sizeof(bool); out[n++] = sizeof(char); out[n++] = sizeof(ushort); out[n++] = sizeof(uint); out[n++] = sizeof(ulong);
  out[n++] = sizeof(half); out[n++] = sizeof(bfloat); out[n++] = sizeof(float); out[n++] = sizeof(size_t); out[n++] = sizeof(ptrdiff_t);
  out[n++] = sizeof(int8_t); out[n++] = sizeof(uint16_t); out[n++] = sizeof(int32_t); out[n++] = sizeof(uint64_t);
  out[n++] = sizeof(unsigned char); out[n++] = sizeof(unsigned short int); out[n++] = sizeof(unsigned); out[n++] = sizeof(signed long);
  out[n++] = alignof(long); out[n++] = alignof(half); out[n++] = sizeof(int[5]); out[n++] = sizeof(half3); out[n++] = alignof(float3);
  out[n++] = sizeof(packed_float3); out[n++] = alignof(packed_float3); out[n++] = sizeof(bool4); out[n++] = sizeof(device float*);
}
kernel void limits(device long* out) {
  int n = 0;
  out[n++] = INT_MAX; out[n++] = INT_MIN; out[n++] = UINT_MAX; out[n++] = SHRT_MIN; out[n++] = UCHAR_MAX; out[n++] = CHAR_BIT;
  out[n++] = numeric_limits<int>::max(); out[n++] = numeric_limits<int>::lowest(); out[n++] = numeric_limits<short>::min();
  out[n++] = numeric_limits<uchar>::max(); out[n++] = numeric_limits<long>::max(); out[n++] = long(numeric_limits<ulong>::max());
  out[n++] = numeric_limits<char>::is_signed; out[n++] = numeric_limits<float>::digits; out[n++] = numeric_limits<half>::digits;
  out[n++] = numeric_limits<float>::is_integer;
}
kernel void floats(device float* out) {
  out[0] = numeric_limits<float>::max(); out[1] = numeric_limits<float>::lowest(); out[2] = numeric_limits<float>::epsilon();
  out[3] = numeric_limits<float>::infinity(); out[4] = FLT_MAX; out[5] = FLT_EPSILON; out[6] = INFINITY; out[7] = float(numeric_limits<half>::max());
  out[8] = M_PI_F; out[9] = float(HALF_MAX); out[10] = M_SQRT2_F; out[11] = numeric_limits<float>::min();
}
)");
  EXPECT_EQ(run<int32_t>(library["sizes"], 27),
            (std::vector<int32_t>{1, 1, 2, 4, 8, 2, 2, 4, 8, 8, 1, 2, 4, 8, 1, 2, 4, 8, 8, 2, 20, 8, 16, 12, 4, 4, 8}));
  EXPECT_EQ(run<int64_t>(library["limits"], 16),
            (std::vector<int64_t>{INT32_MAX, INT32_MIN, UINT32_MAX, INT16_MIN, 255, 8, INT32_MAX, INT32_MIN, INT16_MIN,
                                  255, INT64_MAX, -1, 1, 24, 11, 0}));
  using Float = std::numeric_limits<float>;
  EXPECT_EQ(
      run<float>(library["floats"], 12),
      (std::vector<float>{Float::max(), Float::lowest(), Float::epsilon(), Float::infinity(), Float::max(),
                          Float::epsilon(), Float::infinity(), 65504, 3.14159274f, 65504, 1.41421354f, Float::min()}));
}

TEST_P(MetalTypesTest, SmallIntegersArePromotedToInt) {
  const ShaderLibrary library = metal(R"(
kernel void promoted(device int* out, device const int* in, uint i [[thread_position_in_grid]]) {
  const char c = char(in[i]);
  const uchar u = uchar(in[i]);
  const short s = short(in[i] * 300);
  const ushort w = ushort(in[i] * 300);
  device int* o = out + 8 * i;
  o[0] = c * c + c; o[1] = u + u; o[2] = s + s; o[3] = w * 2 - 1; o[4] = ~u; o[5] = -u; o[6] = (u << 4) >> 2; o[7] = c < u ? 1 : s < w ? 2 : 3;
}
kernel void kept(device int* out, device const int* in, uint i [[thread_position_in_grid]]) {
  char c = char(in[i]);
  uchar u = uchar(in[i]);
  short s = short(in[i]);
  ushort w = ushort(in[i]);
  c += 100; u -= 50; s *= 1000; w <<= 9; ++u; --w; c ^= 0x55; s /= 3; u *= u; w |= 0x8001; u >>= 1; w >>= 3; c = -c; s %= 77;
  const uchar before = u++;
  const int after = --c;
  out[i] = c + u * 256 + s * 3 + w * 7 + before * 11 + after * 13;
}
kernel void from_float(device int* out, device const float* in, uint i [[thread_position_in_grid]]) {
  int v = 10;
  v += in[i]; v *= 1.5f; v -= 0.75f;
  uchar u = uchar(100);
  u += 0.9f; u *= 2.25f;
  out[i] = v * 1000 + u;
}
)");
  const auto in = each(kTypesCount, [](int i) { return i * 37 - 500; });
  const Tensor out = zeros({8 * kTypesCount}, DType::I32);
  library["promoted"].threads(kTypesCount)(out, from_host(in));
  std::vector<int32_t> wanted;
  for (const int x : in) {
    const auto c = static_cast<int8_t>(x);
    const auto u = static_cast<uint8_t>(x);
    const auto s = static_cast<int16_t>(x * 300);
    const auto w = static_cast<uint16_t>(x * 300);
    const int last = c < u ? 1 : s < w ? 2 : 3;
    wanted.insert(wanted.end(), {c * c + c, u + u, s + s, w * 2 - 1, ~u, -u, (u << 4) >> 2, last});
  }
  EXPECT_EQ(out.to_host<int32_t>(), wanted);
  EXPECT_EQ(run<int32_t>(library["kept"], kTypesCount, in), each(kTypesCount, [&](int i) {
              const int x = in[static_cast<size_t>(i)];
              auto c = static_cast<int8_t>(x + 100);
              auto u = static_cast<uint8_t>(x - 50);
              auto s = static_cast<int16_t>(static_cast<int16_t>(x) * 1000);
              auto w = static_cast<uint16_t>(static_cast<uint16_t>(x) << 9);
              u = static_cast<uint8_t>(u + 1);
              w = static_cast<uint16_t>(w - 1);
              c = static_cast<int8_t>(c ^ 0x55);
              s = static_cast<int16_t>(s / 3);
              u = static_cast<uint8_t>(u * u);
              w = static_cast<uint16_t>(w | 0x8001);
              u = static_cast<uint8_t>(u >> 1);
              w = static_cast<uint16_t>(w >> 3);
              c = static_cast<int8_t>(-c);
              s = static_cast<int16_t>(s % 77);
              const uint8_t before = u;
              u = static_cast<uint8_t>(u + 1);
              c = static_cast<int8_t>(c - 1);
              return c + u * 256 + s * 3 + w * 7 + before * 11 + c * 13;
            }));
  const auto floats = each(kTypesCount, [](int i) { return static_cast<float>(i) * 1.3f - 20; });
  EXPECT_EQ(run<int32_t>(library["from_float"], kTypesCount, floats), each(kTypesCount, [&](int i) {
              auto v = static_cast<int>(10 + floats[static_cast<size_t>(i)]);
              v = static_cast<int>(static_cast<float>(v) * 1.5f);
              v = static_cast<int>(static_cast<float>(v) - 0.75f);
              return v * 1000 + 225;
            }));
}

TEST_P(MetalTypesTest, SignedAndUnsignedAreConvertedAsInCpp) {
  const ShaderLibrary library = metal(R"(
kernel void mixed(device int* out, device const int* in, uint i [[thread_position_in_grid]]) {
  const int s = in[i];
  const uint u = 7;
  const long l = s;
  device int* o = out + 10 * i;
  o[0] = s < u; o[1] = l < u; o[2] = (s + u) / 2 > 100u; o[3] = int((i % 2 ? s : u) / 3); o[4] = s > -1 && s >= 0u; o[5] = ushort(s) == s;
  o[6] = int(s / int(u)) * 100 + s % int(u); o[7] = s >> 2; o[8] = int(uint(s) >> 28); o[9] = uchar(s) < char(s);
}
kernel void truth(device int* out, device const int* in, uint i [[thread_position_in_grid]]) {
  const bool a = in[i], b = in[i] % 2, c = float(in[i]) * 0.001f, d = !in[i];
  bool e = a;
  e &= b; e |= d; e ^= true;
  out[i] = (a + b) * 10 + (a && b) + (a == b) * 100 + (b < c) * 1000 + e * 10000 + int(bool(0.25f)) * 100000 + -d * 3 + (a ? 5 : 6);
}
kernel void chosen(device float* out, device const int* in, uint i [[thread_position_in_grid]]) {
  const auto mixed = in[i] > 0 ? 1 : 2.5f;
  const auto whole = in[i] > 0 ? -1 : 1u;
  const auto wide = in[i] > 0 ? -1 : 1l;
  out[i] = mixed + float(whole) + float(wide);
}
)");
  const auto in = each(kTypesCount, [](int i) { return i * 3 - 47 + (i % 5) * 70001; });
  const Tensor out = zeros({10 * kTypesCount}, DType::I32);
  library["mixed"].threads(kTypesCount)(out, from_host(in));
  std::vector<int32_t> wanted;
  for (size_t i = 0; i < in.size(); ++i) {
    const int s = in[i];
    const auto u = static_cast<uint32_t>(s);
    const uint32_t third = (i % 2 ? u : 7u) / 3;
    wanted.insert(wanted.end(), {u < 7u, s<7, (u + 7u) / 2> 100u, static_cast<int32_t>(third), s >= 0,
                                 static_cast<uint16_t>(s) == s, s / 7 * 100 + s % 7, s >> 2,
                                 static_cast<int32_t>(u >> 28), static_cast<uint8_t>(s) < static_cast<int8_t>(s)});
  }
  EXPECT_EQ(out.to_host<int32_t>(), wanted);
  auto small = in;
  small[3] = 0;
  EXPECT_EQ(run<int32_t>(library["truth"], kTypesCount, small), each(kTypesCount, [&](int i) {
              const int x = small[static_cast<size_t>(i)];
              const bool a = x != 0, b = x % 2 != 0, c = a, d = !a;
              const bool e = !((a && b) || d);
              return (a + b) * 10 + (a && b) + (a == b) * 100 + (b < c) * 1000 + e * 10000 + 100000 - d * 3 +
                     (a ? 5 : 6);
            }));
  EXPECT_EQ(run<float>(library["chosen"], kTypesCount, in), each(kTypesCount, [&](int i) {
              return in[static_cast<size_t>(i)] > 0 ? 1.0f + 4294967296.0f - 1.0f : 2.5f + 1 + 1;
            }));
}

TEST_P(MetalTypesTest, NumbersAreConvertedToTheNearestOrTowardsZero) {
  const ShaderLibrary library = metal(R"(
kernel void to_float(device float* out, device const long* in, uint i [[thread_position_in_grid]]) {
  device float* o = out + 4 * i;
  o[0] = in[i]; o[1] = ulong(in[i]); o[2] = int(in[i]); o[3] = uint(in[i]);
}
kernel void from_float(device long* out, device const float* in, uint i [[thread_position_in_grid]]) {
  device long* o = out + 5 * i;
  o[0] = long(in[i]); o[1] = int(in[i]); o[2] = short(in[i]); o[3] = (long)(in[i] * 1e9f); o[4] = static_cast<long>(ulong(abs(in[i]) * 1e10f));
}
kernel void bits(device uint* out, device const float* in, uint i [[thread_position_in_grid]]) {
  device uint* o = out + 5 * i;
  o[0] = as_type<uint>(in[i]); o[1] = as_type<ushort>(half(in[i])); o[2] = uint(as_type<int>(in[i]) >> 23);
  o[3] = as_type<uint>(as_type<float>(i * 0x01010101u + 0x3f000000u)); o[4] = as_type<ushort>(bfloat(in[i]));
}
)");
  const std::vector<int64_t> whole = {
      0,         1,         -1,        16777217,         16777219,           -16777217,  33554435,           INT32_MAX,
      INT32_MIN, INT64_MAX, INT64_MIN, 9007199791611905, 0x7fffffbfffffffff, 4294967295, 1234567890123456789};
  const auto count = static_cast<int64_t>(whole.size());
  const Tensor floats = zeros({4 * count});
  library["to_float"].threads(whole.size())(floats, from_host(whole));
  std::vector<float> wanted;
  for (const int64_t x : whole)
    wanted.insert(wanted.end(),
                  {static_cast<float>(x), static_cast<float>(static_cast<uint64_t>(x)),
                   static_cast<float>(static_cast<int32_t>(x)), static_cast<float>(static_cast<uint32_t>(x))});
  EXPECT_EQ(floats.to_host<float>(), wanted);

  const std::vector<float> real = {0, -0.0f, 0.5f, -0.99f, 1.999f, -7.5f, 1234.5f, -32768, 32767.9f, 100.25f, 1e3f};
  const Tensor longs = zeros({5 * static_cast<int64_t>(real.size())}, DType::I64);
  library["from_float"].threads(real.size())(longs, from_host(real));
  std::vector<int64_t> truncated;
  for (const float x : real) {
    const auto whole_part = static_cast<int64_t>(x);
    truncated.insert(truncated.end(), {whole_part, whole_part, whole_part, static_cast<int64_t>(x * 1e9f),
                                       static_cast<int64_t>(std::fabs(x) * 1e10f)});
  }
  EXPECT_EQ(longs.to_host<int64_t>(), truncated);

  const std::vector<float> exact = {0, -0.0f, 1, -2.5f, 65504, 0.125f, -1024};
  const std::vector<uint32_t> halves = {0, 0x8000, 0x3c00, 0xc100, 0x7bff, 0x3000, 0xe400};
  const Tensor bits = zeros({5 * static_cast<int64_t>(exact.size())}, DType::U32);
  library["bits"].threads(exact.size())(bits, from_host(exact));
  std::vector<uint32_t> patterns;
  for (size_t i = 0; i < exact.size(); ++i) {
    const auto pattern = std::bit_cast<uint32_t>(exact[i]);
    const uint32_t upper = exact[i] == 65504 ? 0x4780 : pattern >> 16;
    patterns.insert(patterns.end(), {pattern, halves[i], static_cast<uint32_t>(static_cast<int32_t>(pattern) >> 23),
                                     static_cast<uint32_t>(i) * 0x01010101u + 0x3f000000u, upper});
  }
  EXPECT_EQ(bits.to_host<uint32_t>(), patterns);
}

TEST_P(MetalTypesTest, LongHas64Bits) {
  const ShaderLibrary library = metal(R"(
kernel void signed_ones(device long* out, device const long* in, uint i [[thread_position_in_grid]]) {
  const long a = in[2 * i], b = in[2 * i + 1];
  device long* o = out + 8 * i;
  o[0] = long(ulong(a) * ulong(b)); o[1] = a / b; o[2] = a % b; o[3] = a >> 7; o[4] = long(ulong(a) << (i % 64)); o[5] = (a ^ b) & ~(a | 255l);
  o[6] = (a < b) + 2 * (a == b) + 4 * (a >= 0); o[7] = max(a, b) - min(a / 2, b / 2);
}
kernel void unsigned_ones(device ulong* out, device const ulong* in, uint i [[thread_position_in_grid]]) {
  const ulong a = in[2 * i], b = in[2 * i + 1];
  device ulong* o = out + 5 * i;
  o[0] = a / b; o[1] = a % b; o[2] = a >> 33; o[3] = (a < b) + ulong(a > 0x8000000000000000ul) * 2; o[4] = ulong(uint(a)) * uint(b >> 32) + (i * 5000000000ul);
}
)");
  const std::vector<int64_t> in = {1,         1, -7,        3,   1ll << 40,  -12345, INT64_MAX,         1ll << 33,
                                   INT64_MIN, 3, 123456789, -77, -1ll << 50, -5,     0x123456789abcdef, 0xfedcba987,
                                   0,         9};
  const auto count = static_cast<int64_t>(in.size() / 2);
  const Tensor out = zeros({8 * count}, DType::I64);
  library["signed_ones"].threads(in.size() / 2)(out, from_host(in));
  std::vector<int64_t> wanted;
  std::vector<uint64_t> unsigned_in, unsigned_wanted;
  for (size_t i = 0; i < in.size() / 2; ++i) {
    const int64_t a = in[2 * i], b = in[2 * i + 1];
    const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    wanted.insert(wanted.end(), {static_cast<int64_t>(x * y), a / b, a % b, a >> 7, static_cast<int64_t>(x << (i % 64)),
                                 (a ^ b) & ~(a | 255), (a < b) + 2 * (a == b) + 4 * (a >= 0),
                                 std::max(a, b) - std::min(a / 2, b / 2)});
    unsigned_in.insert(unsigned_in.end(), {x, y});
    unsigned_wanted.insert(unsigned_wanted.end(),
                           {x / y, x % y, x >> 33, uint64_t{x < y} + (x > uint64_t{1} << 63) * uint64_t{2},
                            (x & 0xffffffff) * (y >> 32) + i * 5000000000});
  }
  EXPECT_EQ(out.to_host<int64_t>(), wanted);
  const Tensor rest = zeros({5 * count}, DType::U64);
  library["unsigned_ones"].threads(in.size() / 2)(rest, from_host(unsigned_in));
  EXPECT_EQ(rest.to_host<uint64_t>(), unsigned_wanted);
}

TEST_P(MetalTypesTest, WritingASmallTypeLeavesItsNeighboursUnchanged) {
  const ShaderLibrary library = metal(R"(
kernel void bytes(device uchar* out, uint i [[thread_position_in_grid]]) { if (i % 3 != 1) out[i] = uchar(i * 5); }
kernel void chars(device char* out, uint i [[thread_position_in_grid]]) { out[i] -= char(i * 7); }
kernel void shorts(device short* out, uint i [[thread_position_in_grid]]) { if (i % 2) out[i] = short(i * -1000); }
kernel void bools(device bool* out, device const int* in, uint i [[thread_position_in_grid]]) { out[i] = in[i] & 4; }
kernel void halves(device half* out, uint i [[thread_position_in_grid]]) { if (i % 2 == 0) out[i] = half(i) * 0.5h; }
kernel void longs(device long* out, uint i [[thread_position_in_grid]]) { out[i] += long(i) << 33; }
)");
  const Tensor bytes = full({37}, 9, DType::U8), chars = full({37}, 9, DType::I8), shorts = full({37}, 9, DType::I16);
  const Tensor halves = full({37}, 9, DType::F16), longs = full({37}, 9, DType::I64), bools = zeros({37}, DType::Bool);
  library["bytes"](bytes);
  library["chars"](chars);
  library["shorts"](shorts);
  library["halves"](halves);
  library["longs"](longs);
  library["bools"](bools, from_host(each(37, [](int i) { return i; })));
  EXPECT_EQ(bytes.to_host<uint8_t>(), each(37, [](int i) { return static_cast<uint8_t>(i % 3 != 1 ? i * 5 : 9); }));
  EXPECT_EQ(chars.to_host<int8_t>(), each(37, [](int i) { return static_cast<int8_t>(9 - i * 7); }));
  EXPECT_EQ(shorts.to_host<int16_t>(), each(37, [](int i) { return static_cast<int16_t>(i % 2 ? i * -1000 : 9); }));
  EXPECT_EQ(halves.to_host<float>(), each(37, [](int i) { return i % 2 ? 9.0f : static_cast<float>(i) * 0.5f; }));
  EXPECT_EQ(longs.to_host<int64_t>(), each(37, [](int i) { return (int64_t{i} << 33) + 9; }));
  EXPECT_EQ(bools.to_host<bool>(), each(37, [](int i) { return (i & 4) != 0; }));
}

TEST_P(MetalTypesTest, SpecialNumbersCompareCorrectly) {
  const ShaderLibrary library = metal(R"(
kernel void compare(device int* out, device const float* in, uint i [[thread_position_in_grid]]) {
  const float a = in[2 * i], b = in[2 * i + 1];
  out[i] = (a < b) + (a <= b) * 2 + (a > b) * 4 + (a >= b) * 8 + (a == b) * 16 + (a != b) * 32 + !(a < b) * 64 + (a ? 128 : 0) + isnan(a) * 256 + isinf(b) * 512 + signbit(a) * 1024;
}
)");
  const float nan = std::nanf(""), inf = INFINITY;
  const std::vector<float> in = {1, 2,   2,   1,   0,   -0.0f, -0.0f, 0,   nan, 1,
                                 1, nan, nan, nan, inf, inf,   -inf,  inf, inf, nan};
  EXPECT_EQ(run<int32_t>(library["compare"], 10, in), each(10, [&](int i) {
              const float a = in[static_cast<size_t>(2 * i)], b = in[static_cast<size_t>(2 * i + 1)];
              return (a < b) + (a <= b) * 2 + (a > b) * 4 + (a >= b) * 8 + (a == b) * 16 + (a != b) * 32 +
                     !(a < b) * 64 + (a != 0 ? 128 : 0) + std::isnan(a) * 256 + std::isinf(b) * 512 +
                     std::signbit(a) * 1024;
            }));
}

TEST_P(MetalTypesTest, ConstantExpressionsMatchTheDevice) {
  const ShaderLibrary library = metal(R"(
constexpr int mix(int a, int b) { return (a * 7 - b) % 11 + (a >> 1 ^ b << 3); }
constexpr float blend(float a, float b) { return a * b + a / 3.0f - b * 0.1f; }
constexpr uint hash(uint x) { x ^= x >> 16; x *= 0x7feb352du; x ^= x >> 15; x *= 0x846ca68bu; return x ^ x >> 16; }
kernel void both(device int* out, device const int* in) {
  constexpr int known = mix(123, -45);
  constexpr float real = blend(0.7f, 1.3f);
  constexpr uint hashed = hash(12345u);
  constexpr half rounded = half(0.1f) * half(3);
  constexpr uchar small = uchar(300 + 7);
  const float x = float(in[3]) * 0.1f;
  out[0] = known == mix(in[0], in[1]);
  out[1] = real == blend(as_type<float>(in[4]), as_type<float>(in[5]));
  out[2] = hashed == hash(uint(in[2]));
  out[3] = rounded == half(x) * half(in[3] + 2);
  out[4] = small == uchar(in[0] + 184);
}
)");
  const std::vector<int32_t> in = {123, -45, 12345, 1, std::bit_cast<int32_t>(0.7f), std::bit_cast<int32_t>(1.3f)};
  EXPECT_EQ(run<int32_t>(library["both"], 5, in), std::vector<int32_t>(5, 1));
}

}  // namespace
}  // namespace kymo::device::tests
