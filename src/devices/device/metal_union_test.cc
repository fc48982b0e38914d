// Unions in memory, as quantised formats use them: blocks of scales and small numbers.
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "device/test_metal.h"

namespace kymo::device::tests {
namespace {

class MetalUnionTest : public MetalTest {};
KYMO_ON_EVERY_DEVICE(MetalUnionTest);

constexpr const char* kUnionBlock = R"(
typedef struct {
  __extension__ union {
    struct { half scale; half least; };
    half2 both;
  };
  uchar numbers[8];
} block;
static_assert(sizeof(block) == 12, "");
)";

struct UnionBlock {
  uint16_t scale, least;
  std::array<uint8_t, 8> numbers;
};

std::array<UnionBlock, 4> union_blocks() {
  constexpr std::array<uint16_t, 4> kHalves = {0x3c00, 0x4000, 0x4200, 0x4400};  // 1, 2, 3, 4
  std::array<UnionBlock, 4> blocks{};
  for (size_t i = 0; i < blocks.size(); ++i) {
    blocks[i] = {kHalves[i], kHalves[3 - i], {}};
    for (size_t k = 0; k < 8; ++k) blocks[i].numbers[k] = static_cast<uint8_t>(i * 31 + k * 17);
  }
  return blocks;
}

TEST_P(MetalUnionTest, MembersHaveAddresses) {
  const ShaderLibrary library = metal(std::string(kUnionBlock) + R"(
void raise(device half& value) { value += 1.0h; }
kernel void run(device block* blocks, device float* out, uint i [[thread_position_in_grid]]) {
  device const half* scale = &blocks[i].scale;
  device const half* least = &blocks[i].least;
  device const half2* both = &blocks[i].both;
  out[i * 4] = float(*scale) * float(blocks[i].numbers[i]) + float(scale[1]);
  out[i * 4 + 1] = float(*least);
  out[i * 4 + 2] = float(both->x) * 10.0f + float((*both).y);
  raise(blocks[i].least);
  *(device half*)&blocks[i].scale *= 2.0h;
  out[i * 4 + 3] = float(blocks[i].both.x) * 10.0f + float(blocks[i].both.y);
}
kernel void kept(device float* out, uint i [[thread_position_in_grid]]) {
  union { float4 all; float each[4]; struct { float2 low; float2 high; } half_; } u;
  u.all = float4(i, i + 1, i + 2, i + 3);
  thread float* each = u.each;
  thread float2* high = &u.half_.high;
  each[1] = 100;
  out[i * 3] = each[i] + each[1];
  *high += 5.0f;
  out[i * 3 + 1] = u.all.z + u.all.w;
  out[i * 3 + 2] = u.all.y;
}
)");
  const auto blocks = union_blocks();
  std::vector<uint8_t> bytes(sizeof(blocks));
  std::memcpy(bytes.data(), blocks.data(), bytes.size());
  const Tensor in = from_host(bytes), out = zeros({16}, DType::F32);
  library["run"].threads(4)(in, out);
  const auto got = out.to_host<float>();
  for (size_t i = 0; i < 4; ++i) {
    const float scale = static_cast<float>(i + 1), least = static_cast<float>(4 - i);
    EXPECT_EQ(got[i * 4], scale * blocks[i].numbers[i] + least) << i;
    EXPECT_EQ(got[i * 4 + 1], least) << i;
    EXPECT_EQ(got[i * 4 + 2], scale * 10 + least) << i;
    EXPECT_EQ(got[i * 4 + 3], scale * 20 + least + 1) << i;
  }
  const Tensor kept = zeros({12}, DType::F32);
  library["kept"].threads(4)(kept);
  const auto values = kept.to_host<float>();
  for (size_t i = 0; i < 4; ++i) {
    const float n = static_cast<float>(i);
    EXPECT_EQ(values[i * 3], (i == 1 ? 100 : 2 * n) + 100) << i;
    EXPECT_EQ(values[i * 3 + 1], 2 * n + 15) << i;
    EXPECT_EQ(values[i * 3 + 2], 100) << i;
  }
}

// A union is aligned as its members are, not as the words in which it is stored.
TEST_P(MetalUnionTest, TheLayoutIsThatOfTheHost) {
  const ShaderLibrary library = metal(R"(
struct pairs {
  half first;
  union { half h[2]; ushort u[2]; uchar b[4]; };
  union { uchar a[3]; struct { uchar x; uchar y; uchar z; }; };
  uchar last;
};
static_assert(sizeof(pairs) == 10 && alignof(pairs) == 2, "");
kernel void run(device pairs* in, device uint* out, uint i [[thread_position_in_grid]]) {
  out[i * 4] = in[i].u[0] + (uint(in[i].u[1]) << 16);
  out[i * 4 + 1] = in[i].b[2] + in[i].a[1] * 256u;
  out[i * 4 + 2] = in[i].last;
  in[i].h[1] = half(i);
  in[i].z = uchar(200 + i);
  in[i].b[0] = uchar(7 + i);
  out[i * 4 + 3] = in[i].a[2] + (uint(in[i].u[1]) << 16);
}
)");
  std::vector<uint8_t> bytes(20);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 11 + 1);
  const Tensor in = from_host(bytes), out = zeros({8}, DType::U32);
  library["run"].threads(2)(in, out);
  const auto got = out.to_host<uint32_t>();
  const auto after = in.to_host<uint8_t>();
  for (size_t i = 0; i < 2; ++i) {
    const uint8_t* b = bytes.data() + i * 10;
    uint32_t word = 0;
    std::memcpy(&word, b + 2, 4);
    EXPECT_EQ(got[i * 4], word) << i;
    EXPECT_EQ(got[i * 4 + 1], b[4] + b[7] * 256U) << i;
    EXPECT_EQ(got[i * 4 + 2], b[9]) << i;
    EXPECT_EQ(got[i * 4 + 3], 200 + i + (i == 0 ? 0U : 0x3c000000U)) << i;
    EXPECT_EQ(after[i * 10 + 2], 7 + i);
    EXPECT_EQ(after[i * 10 + 3], b[3]);
    EXPECT_EQ(after[i * 10 + 8], 200 + i);
    EXPECT_EQ(after[i * 10 + 9], b[9]);
  }
}

// Tables of packed bytes, read as bytes.
TEST_P(MetalUnionTest, ConstantTablesAreReadAsOtherTypes) {
  const ShaderLibrary library = metal(R"(
constant ulong grid[4] = {0x0807060504030201ul, 0x1817161514131211ul, 0x2827262524232221ul, 0x3837363534333231ul};
static constant float4 rows[2] = {{1, 2, 3, 4}, {5, 6, 7, 8}};
struct entry { uchar a; short b; float c; };
constant entry entries[2] = {{1, -2, 3.5f}, {4, -5, 6.5f}};
kernel void run(device int* out, device float* floats, uint i [[thread_position_in_grid]]) {
  constant uchar* bytes = (constant uchar*)(grid + i);
  int sum = 0;
  for (int k = 0; k < 8; ++k) sum += bytes[k] * (k + 1);
  bytes = (constant uchar*)(grid + (3 - i));
  constant uint* words = (constant uint*)grid;
  out[i] = sum + bytes[7] * 1000 + int(words[i * 2 + 1] & 0xff) * 1000000;
  constant float* row = (constant float*)rows;
  constant short* shorts = (constant short*)(entries + i % 2);
  floats[i] = row[i * 2 + 1] + shorts[1] * 100;
}
)");
  const Tensor out = zeros({4}, DType::I32), floats = zeros({4}, DType::F32);
  library["run"].threads(4)(out, floats);
  const auto got = out.to_host<int32_t>();
  const auto rows = floats.to_host<float>();
  for (int i = 0; i < 4; ++i) {
    int sum = 0;
    for (int k = 0; k < 8; ++k) sum += (i * 16 + k + 1) * (k + 1);
    EXPECT_EQ(got[static_cast<size_t>(i)], sum + ((3 - i) * 16 + 8) * 1000 + (i * 16 + 5) * 1000000) << i;
    EXPECT_EQ(rows[static_cast<size_t>(i)], static_cast<float>(i * 2 + 2 + (i % 2 == 0 ? -200 : -500))) << i;
  }
}

}  // namespace
}  // namespace kymo::device::tests
