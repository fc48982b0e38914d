// Memory that is declared as one type and used as others: pointers that are converted to pointers to another type.
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "device/test_metal.h"

namespace kymo::device::tests {
namespace {

class MetalReinterpretTest : public MetalTest {};
KYMO_ON_EVERY_DEVICE(MetalReinterpretTest);

constexpr int kReinterpretThreads = 64;

// The usual way to have several tiles: one block of bytes that the caller sizes, and that the kernel divides.
TEST_P(MetalReinterpretTest, BytesOfTheCallerAreDividedIntoTilesOfOtherTypes) {
  const ShaderLibrary library = metal(R"(
template <typename T> void put(threadgroup T* to, uint t, float v) { to[t] = T(v); }
template <typename T> float total(threadgroup const T* from, uint n) {
  float sum = 0;
  for (uint k = 0; k < n; ++k) sum += float(from[k]) * float(k + 1);
  return sum;
}
kernel void divided(device float* out, device const float* in, threadgroup char* shmem [[threadgroup(0)]],
                    uint t [[thread_position_in_threadgroup]]) {
  threadgroup half* sa = (threadgroup half*)shmem;
  threadgroup float* sb = (threadgroup float*)(shmem + 128);
  threadgroup bfloat* sc = (threadgroup bfloat*)(shmem + 384);
  threadgroup uchar* sd = reinterpret_cast<threadgroup uchar*>(shmem) + 512;
  put(sa, t, in[t]);
  put(sb, t, in[t] * 3);
  put(sc, t, in[t]);
  sd[t] = uchar(t * 5);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  threadgroup const float4* four = (threadgroup const float4*)sb;
  threadgroup const half4* halfs = (threadgroup const half4*)(sa + 4);
  out[t] = total(sa, 64) + total(sb, 64) + total(sc, 64) + total(sd, 64);
  out[64 + t] = four[t / 4][t % 4] + float(halfs[t % 15].w) + float(sd[63 - t]);
}
)");
  const auto in = each(kReinterpretThreads, [](int i) { return static_cast<float>(i * 7 % 32) * 0.25F - 3; });
  const Tensor out = zeros({2 * kReinterpretThreads}, DType::F32);
  library["divided"].threads(kReinterpretThreads).group(kReinterpretThreads)(out, from_host(in), 576);
  const auto got = out.to_host<float>();
  float sum = 0;
  std::array<float, 4> sums{};
  for (int k = 0; k < kReinterpretThreads; ++k) {
    const float v = in[static_cast<size_t>(k)], weight = static_cast<float>(k + 1);
    sums[0] += v * weight;
    sums[1] += v * 3 * weight;
    sums[2] += v * weight;
    sums[3] += static_cast<float>(k * 5 % 256) * weight;
  }
  sum = ((sums[0] + sums[1]) + sums[2]) + sums[3];
  for (size_t t = 0; t < kReinterpretThreads; ++t) {
    EXPECT_EQ(got[t], sum) << t;
    EXPECT_EQ(got[64 + t], in[t] * 3 + in[4 + t % 15 * 4 + 3] + static_cast<float>((63 - t) * 5 % 256)) << t;
  }
}

// A compiler of C may assume that a uint and a float are never the same bytes.
TEST_P(MetalReinterpretTest, NumbersAreReadAsAnotherTypeThanTheyWereWritten) {
  const ShaderLibrary library = metal(R"(
void negate(device uint* words, uint i) { words[i] ^= 0x80000000u; }
kernel void bits(device float* out, device uint* seen, uint i [[thread_position_in_grid]]) {
  device uint* words = (device uint*)out;
  out[i] = float(i) + 1.5f;
  seen[i] = words[i];
  words[i] += 0x00800000u;
  const float twice = out[i];
  negate(words, i);
  float local[2] = {twice, out[i]};
  thread uint* kept = (thread uint*)local;
  kept[0] |= 0x80000000u;
  out[i] = local[0] + out[i];
}
)");
  const Tensor out = zeros({kReinterpretThreads}, DType::F32), seen = zeros({kReinterpretThreads}, DType::U32);
  library["bits"].threads(kReinterpretThreads)(out, seen);
  for (size_t i = 0; i < kReinterpretThreads; ++i) {
    const float first = static_cast<float>(i) + 1.5F;
    EXPECT_EQ(seen.to_host<uint32_t>()[i], std::bit_cast<uint32_t>(first)) << i;
    EXPECT_EQ(out.to_host<float>()[i], -4 * first) << i;
  }
}

// Neighbours write parts of one word at the same time.
TEST_P(MetalReinterpretTest, ThreadsWriteNeighbouringBytesAtTheSameTime) {
  const ShaderLibrary library = metal(R"(
kernel void bytes(device uint* out, uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]]) {
  threadgroup uint words[64];
  threadgroup uchar* bytes = (threadgroup uchar*)words;
  threadgroup short* shorts = (threadgroup short*)(words + 32);
  bytes[t] = uchar(i * 3);
  bytes[64 + t] = 0;
  shorts[t] = short(-int(i));
  threadgroup_barrier(mem_flags::mem_threadgroup);
  bytes[64 + t] += bytes[63 - t];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[i] = words[t];
}
)");
  constexpr int kCount = 4 * kReinterpretThreads;
  const Tensor out = zeros({kCount}, DType::U32);
  library["bytes"].threads(kCount).group(kReinterpretThreads)(out);
  std::vector<uint32_t> wanted(kCount);
  for (int first = 0; first < kCount; first += kReinterpretThreads) {
    std::array<uint8_t, 256> memory{};
    for (int t = 0; t < kReinterpretThreads; ++t) {
      memory[static_cast<size_t>(t)] = static_cast<uint8_t>((first + t) * 3);
      memory[static_cast<size_t>(127 - t)] = static_cast<uint8_t>((first + t) * 3);
      const auto number = static_cast<int16_t>(-(first + t));
      std::memcpy(memory.data() + 128 + 2 * t, &number, sizeof(number));
    }
    std::memcpy(wanted.data() + first, memory.data(), memory.size());
  }
  EXPECT_EQ(out.to_host<uint32_t>(), wanted);
}

TEST_P(MetalReinterpretTest, StructuresVectorsAndAtomicsAreInBytes) {
  const ShaderLibrary library = metal(R"(
struct Item { uint id; half2 size; packed_char3 color; uchar kind; float3 at; ulong wide; bool is_set; };
kernel void items(device uint* out, uint t [[thread_position_in_threadgroup]]) {
  threadgroup uchar memory[4096];
  threadgroup Item* items = (threadgroup Item*)memory;
  threadgroup atomic_uint* count = (threadgroup atomic_uint*)(memory + 4000);
  threadgroup atomic_int* sum = (threadgroup atomic_int*)(memory + 4004);
  threadgroup atomic_float* mean = (threadgroup atomic_float*)(memory + 4008);
  if (t == 0) {
    atomic_store_explicit(count, 0u, memory_order_relaxed);
    atomic_store_explicit(sum, -5, memory_order_relaxed);
    atomic_store_explicit(mean, 0.5f, memory_order_relaxed);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (t < 32) {
    threadgroup Item& own = items[t];
    own.id = t * 1000003u;
    own.size = half2(t, -float(t));
    own.size.y *= 2;
    own.color = packed_char3(char(t), char(-int(t)), 3);
    own.kind = uchar(200 + t);
    own.at = float3(t, 0.5f, -1);
    own.at.xz += 2;
    own.wide = ulong(t) << 33 | 1;
    own.is_set = t % 3 == 0;
    atomic_fetch_add_explicit(count, 1u, memory_order_relaxed);
    atomic_fetch_sub_explicit(sum, int(t), memory_order_relaxed);
    atomic_fetch_add_explicit(mean, 0.25f, memory_order_relaxed);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const Item other = items[31 - t % 32];
  threadgroup Item* last = items + 31;
  out[t] = other.id + uint(float(other.size.x) * 3 - float(other.size.y)) + uint(other.color.y + 64) + other.kind * 7u +
           uint(other.at.x + other.at.y * 2 + other.at.z) + uint(other.wide >> 32) + (other.is_set ? 100000u : 0u) +
           uint(last - (items + t % 32)) + (&items[t % 32] < last ? 10000u : 0u) +
           atomic_load_explicit(count, memory_order_relaxed) +
           uint(-atomic_load_explicit(sum, memory_order_relaxed)) +
           uint(atomic_load_explicit(mean, memory_order_relaxed) * 4);
}
)");
  const Tensor out = zeros({kReinterpretThreads}, DType::U32);
  library["items"].threads(kReinterpretThreads).group(kReinterpretThreads)(out);
  EXPECT_EQ(out.to_host<uint32_t>(), each(kReinterpretThreads, [](int i) {
              const auto t = static_cast<uint32_t>(i % 32), other = 31 - t;
              return other * 1000003u + other * 5 + (64 - other) + static_cast<uint8_t>(200 + other) * 7u +
                     (other + 4) + other * 2 + (other % 3 == 0 ? 100000u : 0u) + (31 - t) + (t < 31 ? 10000u : 0u) +
                     32 + (5 + 31 * 16) + 34;
            }));
}

// A thread's own numbers, seen as their bytes.
TEST_P(MetalReinterpretTest, VariablesAreReadAndWrittenByBytes) {
  const ShaderLibrary library = metal(R"(
uint weigh(thread const uchar* bytes, int n) { uint sum = 0; for (int k = 0; k < n; ++k) sum = sum * 31 + bytes[k]; return sum; }
kernel void parts(device uint* out, uint i [[thread_position_in_grid]]) {
  uint word = i * 2654435761u;
  thread uchar* bytes = (thread uchar*)&word;
  bytes[1] ^= 0xff;
  bytes[3] = uchar(i);
  float numbers[3] = {float(i), -1.5f, 0.25f};
  thread ushort* shorts = (thread ushort*)numbers;
  shorts[3] = 0x4000;
  thread uint2* pair = (thread uint2*)numbers;
  pair->x += 1;
  out[i] = word + weigh((thread const uchar*)numbers, 12) * 3 + uint(numbers[1]) + weigh(bytes + 1, 3) + shorts[i % 6];
}
)");
  EXPECT_EQ(run<uint32_t>(library["parts"], kReinterpretThreads), each(kReinterpretThreads, [](int n) {
              const auto weigh = [](const uint8_t* bytes, int count) {
                uint32_t sum = 0;
                for (int k = 0; k < count; ++k) sum = sum * 31 + bytes[k];
                return sum;
              };
              const auto i = static_cast<uint32_t>(n);
              auto bytes = std::bit_cast<std::array<uint8_t, 4>>(i * 2654435761u);
              bytes[1] ^= 0xff;
              bytes[3] = static_cast<uint8_t>(i);
              std::array<float, 3> numbers{static_cast<float>(i), -1.5F, 0.25F};
              auto shorts = std::bit_cast<std::array<uint16_t, 6>>(numbers);
              shorts[3] = 0x4000;
              auto words = std::bit_cast<std::array<uint32_t, 3>>(shorts);
              words[0] += 1;
              shorts = std::bit_cast<std::array<uint16_t, 6>>(words);
              numbers = std::bit_cast<std::array<float, 3>>(words);
              const auto all = std::bit_cast<std::array<uint8_t, 12>>(words);
              return std::bit_cast<uint32_t>(bytes) + weigh(all.data(), 12) * 3 + static_cast<uint32_t>(numbers[1]) +
                     weigh(bytes.data() + 1, 3) + shorts[i % 6];
            }));
}

// Devices of Apple allow it, and kernels for matrices of any width rely on it.
TEST_P(MetalReinterpretTest, VectorsMayBeAlignedAsTheirComponents) {
  const ShaderLibrary library = metal(R"(
struct pair { float4 a; half4 b; };
kernel void loads(device float* out, device const char* in, uint t [[thread_position_in_grid]]) {
  device const float4* four = (device const float4*)(in + 4 * t);
  device const half2* two = (device const half2*)(in + 2 * t);
  out[t * 4] = dot(four[0], float4(1, 2, 3, 4)) + four[0].z;
  out[t * 4 + 1] = four[1].yx[0];
  out[t * 4 + 2] = float(two->y);
  device const pair* both = (device const pair*)(in + 4 * t);
  out[t * 4 + 3] = both->a[t % 4] + float(both->b.w);
}
kernel void stores(device char* out, uint t [[thread_position_in_grid]]) {
  *(device float4*)(out + 20 * t) = float4(t, t + 1, t + 2, t + 3);
  ((device float4*)(out + 20 * t))->y += 100;
  *(device half2*)(out + 20 * t + 16) = half2(half(t), half(t + 1));
}
)");
  constexpr size_t kThreads = 16;
  const auto floats = each(64, [](int i) { return static_cast<float>(i) * 0.5F; });
  std::vector<uint8_t> bytes(floats.size() * sizeof(float));
  std::memcpy(bytes.data(), floats.data(), bytes.size());
  const Tensor out = zeros({4 * kThreads}, DType::F32), in = from_host(bytes);
  library["loads"].threads(kThreads)(out, in);
  const auto got = out.to_host<float>();
  const auto half_at = [&](size_t byte) {
    uint16_t bits = 0;
    std::memcpy(&bits, bytes.data() + byte, sizeof(bits));
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const float value = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                      : std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
    return (bits & 0x8000) != 0 ? -value : value;
  };
  for (size_t t = 0; t < kThreads; ++t) {
    const float* at = floats.data() + t;
    EXPECT_EQ(got[t * 4], at[0] + 2 * at[1] + 3 * at[2] + 4 * at[3] + at[2]) << t;
    EXPECT_EQ(got[t * 4 + 1], at[5]) << t;
    EXPECT_EQ(got[t * 4 + 2], half_at(2 * t + 2)) << t;
    EXPECT_EQ(got[t * 4 + 3], at[t % 4] + half_at(4 * t + 16 + 6)) << t;
  }
  const Tensor stored = zeros({20 * kThreads}, DType::U8);
  library["stores"].threads(kThreads)(stored);
  const auto after = stored.to_host<uint8_t>();
  for (size_t t = 0; t < kThreads; ++t) {
    std::array<float, 4> four{};
    std::array<uint16_t, 2> two{};
    std::memcpy(four.data(), after.data() + 20 * t, sizeof(four));
    std::memcpy(two.data(), after.data() + 20 * t + 16, sizeof(two));
    const float n = static_cast<float>(t);
    EXPECT_EQ(four, (std::array<float, 4>{n, n + 101, n + 2, n + 3})) << t;
    EXPECT_EQ(two[1] == 0, false) << t;
  }
}

// Variables of a thread, which CUDA and OpenCL otherwise keep in registers as floats.
TEST_P(MetalReinterpretTest, ThreadMemoryOfSmallNumbersIsUsedAsOtherTypes) {
  const ShaderLibrary library = metal(R"(
struct Mixed { half a, b; bool on; bfloat c; device const float* from; };
void fill(thread half* to, uint n, uint start) { for (uint k = 0; k < n; ++k) to[k] = half(start + k); }
uint bits_of(half given) { return *(thread ushort*)&given; }
kernel void mixed(device uint* out, device const float* in, constant half& scale, uint t [[thread_position_in_grid]]) {
  float words[4] = {in[t], 2, 3, 4};
  thread half4* halves = (thread half4*)words;
  halves[1] = half4(1, 2, half(t), 4);
  fill((thread half*)words, 2, t);
  out[8 * t] = as_type<uint>(words[0]);
  out[8 * t + 1] = as_type<uint>(words[3]);
  half row[2][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}};
  row[1][0] = half(t);
  thread const uint* pairs = (thread const uint*)&row[0][0];
  out[8 * t + 2] = pairs[2];
  Mixed m = {half(t), 2, true, bfloat(1.5f), in + t};
  thread const uchar* bytes = (thread const uchar*)&m;
  out[8 * t + 3] = bytes[0] | bytes[1] << 8 | bytes[4] << 16 | uint(*m.from) << 24;
  out[8 * t + 4] = *(thread const uint*)&m + bits_of(half(t)) + bits_of(scale);
  half2 two = half2(t, 1);
  two.y = 3;
  *(thread float*)&two += 0.0f;
  out[8 * t + 5] = as_type<uint>(two);
  thread void* anything = &row[0][1];
  out[8 * t + 6] = *(thread ushort*)anything;
  ushort3 three = *(thread ushort3*)&row[1][0];
  out[8 * t + 7] = three.z;
})");
  constexpr int kThreads = 5;
  const auto half_bits = [](int whole) {  // of 0 to 8
    static constexpr uint32_t kBits[] = {0, 0x3C00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600, 0x4700, 0x4800};
    return kBits[whole];
  };
  const auto in = each(kThreads, [](int i) { return static_cast<float>(i); });
  const Tensor out = zeros({8 * kThreads}, DType::U32);
  library["mixed"].threads(kThreads)(out, from_host(in), 2.0);
  const auto got = out.to_host<uint32_t>();
  for (int t = 0; t < kThreads; ++t) {
    const uint32_t own = half_bits(t);
    const uint32_t wanted[] = {own | half_bits(t + 1) << 16,
                               own | half_bits(4) << 16,
                               own | half_bits(6) << 16,
                               own | 1U << 16 | static_cast<uint32_t>(t) << 24,
                               (own | half_bits(2) << 16) + own + half_bits(2),
                               own | half_bits(3) << 16,
                               half_bits(2),
                               half_bits(7)};
    for (size_t k = 0; k < std::size(wanted); ++k)
      EXPECT_EQ(got[8 * static_cast<size_t>(t) + k], wanted[k]) << t << " " << k;
  }
}

}  // namespace
}  // namespace kymo::device::tests
