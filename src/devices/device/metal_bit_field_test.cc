// Bit-fields: the layout, the arithmetic and the bytes of the host's compiler.
#include <cstring>

#include "device/test_metal.h"

namespace kymo::device::tests {
namespace {

using ::testing::ElementsAreArray;

class MetalBitFieldTest : public MetalTest {};
KYMO_ON_EVERY_DEVICE(MetalBitFieldTest);

using uchar = unsigned char;
using uint = unsigned int;
using ulong = unsigned long;  // NOLINT(google-runtime-int): as Metal spells it

// The same text for the host and for the devices.
// NOLINTNEXTLINE(cppcoreguidelines-macro-usage)
#define KYMO_BOTH(...) \
  __VA_ARGS__          \
  constexpr const char* kBitFieldStructs = #__VA_ARGS__;

KYMO_BOTH(
    struct Block {  // a header of quantised weights
      uint scale : 6, least : 6;
      uint kind : 4;
    uint:
      3;
      int shift : 5;
      bool is_last : 1;
      uchar plain;
      ulong offset : 40;
      ulong length : 24;
    uint:
      0;
      signed char tail : 3;
    };
    struct After {
      uchar first;
      uint middle : 20;
      uchar last;
    };)

template <class T>
std::vector<uint8_t> bytes_of(const std::vector<T>& values) {
  std::vector<uint8_t> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

constexpr int kCount = 24;

// The same for both languages, over all members.
template <class B>
void fill_block(B& b, uint i) {
  b.scale = i * 7;
  b.least = 63 - i;
  b.kind = i % 5 == 0 ? 15 : i;
  b.shift = static_cast<int>(i) - 9;
  b.is_last = i % 3 == 0;
  b.plain = static_cast<uchar>(i * 11);
  b.offset = (ulong{i} << 33) + i;
  b.length = 0xffffff - i;
  b.tail = static_cast<signed char>(i % 8) - 4;
  b.kind ^= 3;
  b.shift -= 1;
  b.offset += 5;
}

TEST_P(MetalBitFieldTest, BytesInABufferAreThoseOfTheHost) {
  const ShaderLibrary library = metal(std::string(kBitFieldStructs) + R"(
kernel void fill(device Block* out, uint i [[thread_position_in_grid]]) {
  device Block& b = out[i];
  b.scale = i * 7;
  b.least = 63 - i;
  b.kind = i % 5 == 0 ? 15 : i;
  b.shift = int(i) - 9;
  b.is_last = i % 3 == 0;
  b.plain = uchar(i * 11);
  b.offset = (ulong(i) << 33) + i;
  b.length = 0xffffff - i;
  b.tail = char(i % 8) - 4;
  b.kind ^= 3;
  b.shift -= 1;
  b.offset += 5;
}
kernel void sizes(device uint* out) {
  out[0] = sizeof(Block); out[1] = alignof(Block); out[2] = sizeof(After); out[3] = alignof(After);
}
kernel void around(device After* out, uint i [[thread_position_in_grid]]) {
  threadgroup After shared[32];
  shared[i] = out[i];
  shared[i].middle = ~shared[i].middle;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[i].middle = shared[i ^ 1].middle + out[i].first;
  out[i].last++;
}
)");
  EXPECT_THAT(run<uint32_t>(library["sizes"].group(1), 4),
              ElementsAreArray({sizeof(Block), alignof(Block), sizeof(After), alignof(After)}));
  std::vector<Block> blocks(kCount);
  std::memset(static_cast<void*>(blocks.data()), 0xa5, blocks.size() * sizeof(Block));
  const Tensor out = from_host(bytes_of(blocks));
  library["fill"].threads(kCount)(out);
  for (uint i = 0; i < kCount; ++i) fill_block(blocks[i], i);
  EXPECT_EQ(out.to_host<uint8_t>(), bytes_of(blocks));

  std::vector<After> afters(kCount);
  std::memset(static_cast<void*>(afters.data()), 0x3c, afters.size() * sizeof(After));
  for (uint i = 0; i < kCount; ++i) afters[i].first = static_cast<uchar>(i);
  const Tensor around = from_host(bytes_of(afters));
  library["around"].threads(kCount).group(kCount)(around);
  for (After& each : afters) {
    each.middle = ~each.middle;
    each.middle += each.first;
    each.last++;
  }
  EXPECT_EQ(around.to_host<uint8_t>(), bytes_of(afters));
}

TEST_P(MetalBitFieldTest, InClassesTemplatesUnionsAndConstants) {
  const ShaderLibrary library = metal(R"(
template <typename T, int N> struct Pair {
  T low : N; T high : sizeof(T) * 8 - N;
  constexpr Pair(T a, T b) : low(a), high(b) {}
  T sum() const thread { return low + high; }
};
struct Plain { uint a : 4; uint b : 4 = 9; float c = 0.5f; };
union Bits { float number; struct { uint mantissa : 23; uint exponent : 8; uint sign : 1; }; uint low : 9; };
constant Plain kPlain[2] = {{1, 2, 3.0f}, {.a = 7}};
constexpr constant Pair<ushort, 5> kPair(33, 100);
uint by_value(Plain p) { p.a += 3; return p.a * 100 + p.b; }
uint by_reference(const thread uint& n) { return n + 1; }
uint which(int) { return 1; }
uint which(uint) { return 2; }
kernel void k(device int* out, device const float* in, uint i [[thread_position_in_grid]]) {
  Bits bits = {in[i]};
  bits.sign ^= 1;
  bits.exponent += 1;
  Plain plain;
  plain.a = i;
  auto [a, b, c] = kPlain[i % 2];
  Pair<uint, 9> pair(700 + i, i);
  const uint before = plain.a++;
  out[8 * i] = int(bits.number);
  out[8 * i + 1] = int(bits.mantissa) + int(bits.low);
  out[8 * i + 2] = by_value(plain) + by_reference(plain.b);
  out[8 * i + 3] = int(a * 1000 + b * 10 + uint(c));
  out[8 * i + 4] = int(pair.sum()) + kPair.low + kPair.high * 1000;
  out[8 * i + 5] = (plain.a - 12 < 0) + 2 * (plain.a - 12 < 0u) + (i > 3 ? plain.a : -1 < 0);
  out[8 * i + 6] = int(which(plain.a) * 10 + which(plain.a + 0));
  out[8 * i + 7] = int(before * 100 + plain.a);
})");
  const std::vector<float> in = {1.5f, -20.0f, 0.75f, 1000.25f, -3.0f, 8.0f};
  std::vector<int> wanted;
  for (uint i = 0; i < in.size(); ++i) {
    const uint32_t bits = std::bit_cast<uint32_t>(in[i] * -2);
    const uint a = (i + 1) % 16;
    wanted.push_back(static_cast<int>(in[i] * -2));
    wanted.push_back(static_cast<int>((bits & 0x7fffff) + (bits & 0x1ff)));
    wanted.push_back(static_cast<int>((a + 3) % 16 * 100 + 9 + 10));
    wanted.push_back(i % 2 == 0 ? 1023 : 7090);
    wanted.push_back(static_cast<int>((700 + i) % 512 + i) + 1 + 100'000);
    wanted.push_back((a < 12 ? 1 : 0) + static_cast<int>(i > 3 ? a : 1));
    wanted.push_back(21);
    wanted.push_back(static_cast<int>(i * 100 + a));
  }
  const Tensor out = zeros({static_cast<int64_t>(wanted.size())}, DType::I32);
  library["k"].threads(in.size())(out, from_host(in));
  EXPECT_EQ(out.to_host<int32_t>(), wanted);
}

}  // namespace
}  // namespace kymo::device::tests
