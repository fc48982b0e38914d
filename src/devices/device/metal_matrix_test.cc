// Matrices of simdgroups on every device: the same bits as a host that adds in the same order.
#include "device/test_metal.h"

namespace kymo::device::tests {
namespace {

using ::testing::HasSubstr;

class MetalMatrixTest : public MetalTest {};
KYMO_ON_EVERY_DEVICE(MetalMatrixTest);

// The places of the two elements of a lane.
int row_of(int lane) { return ((lane >> 2) & 4) | ((lane >> 1) & 3); }
int column_of(int lane) { return 2 * (((lane >> 2) & 2) | (lane & 1)); }

size_t at(int row, int column, int width) { return static_cast<size_t>(row * width + column); }

TEST_P(MetalMatrixTest, LoadsAndStoresWithOriginAndTransposition) {
  const ShaderLibrary library = metal(R"(
kernel void copies(device float* out, device const float* in, uint lane [[thread_index_in_simdgroup]]) {
  threadgroup float room[64];
  simdgroup_float8x8 m;
  simdgroup_load(m, in, 20, ulong2(3, 2));
  simdgroup_store(m, out, 8);
  simdgroup_load(m, in, 20, ulong2(3, 2), true);
  simdgroup_store(m, room);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  simdgroup_float8x8 again;
  simdgroup_load(again, room, 8, 0, true);
  simdgroup_store(again, out + 64, 8, ulong2(0, 1), true);
  simdgroup_load(m, in, 20);
  out[192 + 2 * lane] = m.thread_elements()[0];
  out[193 + 2 * lane] = m.thread_elements().y;
}
)");
  const auto in = each(400, [](int i) { return static_cast<float>(i); });
  const Tensor out = zeros({256});
  library["copies"].threads(32).group(32)(out, from_host(in));
  const auto got = out.to_host<float>();
  for (int row = 0; row < 8; ++row) {
    for (int column = 0; column < 8; ++column) {
      EXPECT_EQ(got[at(row, column, 8)], in[at(row + 2, column + 3, 20)]);
      EXPECT_EQ(got[64 + at(row + 1, column, 8)], in[at(column + 2, row + 3, 20)]) << row << ", " << column;
    }
  }
  for (int lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(got[static_cast<size_t>(192 + 2 * lane)], in[at(row_of(lane), column_of(lane), 20)]) << lane;
    EXPECT_EQ(got[static_cast<size_t>(193 + 2 * lane)], in[at(row_of(lane), column_of(lane) + 1, 20)]) << lane;
  }
}

TEST_P(MetalMatrixTest, ProductsAddInTheOrderOfColumns) {
  const ShaderLibrary library = metal(R"(
template <typename T> kernel void product(device float* out, device const T* a, device const T* b, constant uint& n,
                                          uint group [[threadgroup_position_in_grid]]) {
  simdgroup_matrix<T, 8, 8> left, right;
  simdgroup_float8x8 sum = make_filled_simdgroup_matrix<float, 8, 8>(0.5f);
  for (uint k = 0; k < n; k += 8) {
    simdgroup_load(left, a + k, n);
    simdgroup_load(right, b + k * n + group * 8, n);
    simdgroup_multiply_accumulate(sum, left, right, sum);
  }
  simdgroup_store(sum, out + group * 8, n);
}
template [[host_name("floats")]] kernel void product<float>(device float*, device const float*, device const float*, constant uint&, uint);
template [[host_name("halves")]] kernel void product<half>(device float*, device const half*, device const half*, constant uint&, uint);
template [[host_name("bfloats")]] kernel void product<bfloat>(device float*, device const bfloat*, device const bfloat*, constant uint&, uint);
kernel void others(device float* out, device const float* in) {
  simdgroup_float8x8 m, twice(2.0f), made;
  simdgroup_load(m, in);
  simdgroup_multiply(made, m, twice);
  simdgroup_store(made, out);
  simdgroup_store(m * make_diagonal_simdgroup_matrix<float, 8>(3.0f), out + 64);
  simdgroup_half8x8 small;
  simdgroup_multiply(small, twice, twice);
  out[128] = float(small.thread_elements().x);
}
)");
  constexpr int kSize = 16;
  const auto value = [](int i) { return static_cast<float>(i * 37 % 64 - 31) / 16.0f; };
  const auto a = each(8 * kSize, value), b = each(kSize * kSize, [&](int i) { return value(i + 5); });
  const auto check = [&](const char* name, const Tensor& left, const Tensor& right) {
    const Tensor out = zeros({8, kSize});
    library[name].threads(64).group(32)(out, left, right, kSize);
    const auto got = out.to_host<float>();
    for (int row = 0; row < 8; ++row) {
      for (int column = 0; column < kSize; ++column) {
        float sum = 0.5f;
        for (int k = 0; k < kSize; ++k) sum = std::fma(a[at(row, k, kSize)], b[at(k, column, kSize)], sum);
        ASSERT_EQ(got[at(row, column, kSize)], sum) << name << " " << row << ", " << column;
      }
    }
  };
  check("floats", from_host(a), from_host(b));
  const auto as = [](const std::vector<float>& from, auto kind) {
    std::vector<decltype(kind)> made;
    for (const float each : from) made.emplace_back(each);
    return from_host(made);
  };
  check("halves", as(a, Half()), as(b, Half()));
  check("bfloats", as(a, BFloat16()), as(b, BFloat16()));

  const auto in = each(64, value);
  const Tensor out = zeros({160});
  library["others"].threads(32).group(32)(out, from_host(in));
  const auto got = out.to_host<float>();
  for (size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(got[i], in[i] * 2);
    EXPECT_EQ(got[64 + i], in[i] * 3);
  }
}

// Three simdgroups of a group, each with its own matrices; two of them multiply, in a loop and in a function.
TEST_P(MetalMatrixTest, SimdgroupsMultiplyInBranches) {
  const ShaderLibrary library = metal(R"(
simdgroup_float8x8 square(simdgroup_float8x8 m) { return m * m; }
kernel void powers(device float* out, device const float* in, uint simd [[simdgroup_index_in_threadgroup]]) {
  simdgroup_float8x8 m;
  simdgroup_load(m, in + 64 * simd);
  if (simd != 1) {
    for (uint k = 0; k <= simd; ++k) m = square(m);
  }
  simdgroup_store(m, out + 64 * simd);
}
)");
  const auto in = each(3 * 64, [](int i) { return static_cast<float>(i * 29 % 5 - 2) / 4.0f; });
  auto expected = in;
  for (const size_t simd : {0u, 2u}) {
    for (size_t k = 0; k <= simd; ++k) {
      const auto before = expected;
      for (size_t i = 0; i < 64; ++i) {
        float sum = 0;
        for (size_t j = 0; j < 8; ++j)
          sum = std::fma(before[64 * simd + i / 8 * 8 + j], before[64 * simd + 8 * j + i % 8], sum);
        expected[64 * simd + i] = sum;
      }
    }
  }
  const Tensor out = zeros({3 * 64});
  library["powers"].threads(96).group(96)(out, from_host(in));
  EXPECT_EQ(out.to_host<float>(), expected);
}

// Small integers, whose sums are exact in any order. On CUDA this is done by the tensor cores, with lanes in their
// order, and in Apple's where the source sees it.
TEST_P(MetalMatrixTest, TensorCoresGiveTheSameProducts) {
  const std::string source = R"(
template <typename T> kernel void product(device float* out, device const T* a, device const T* b, uint group [[threadgroup_position_in_grid]]) {
  simdgroup_matrix<T, 8, 8> left, right, small;
  simdgroup_float8x8 sum = make_filled_simdgroup_matrix<float, 8, 8>(3.0f);
  for (uint k = 0; k < 16; k += 8) {
    simdgroup_load(left, a + k, 16);
    simdgroup_load(right, b + group * 8 * 16 + k, 16, ulong2(0), true);
    simdgroup_multiply_accumulate(sum, left, right, sum);
  }
  simdgroup_store(sum, out + group * 8, 16);
  simdgroup_multiply(small, left, make_diagonal_simdgroup_matrix<T, 8>(T(2)));
  threadgroup T room[64];
  simdgroup_store(small, room);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (group == 0) out[128] = float(room[8 * 3 + 5]);
}
template [[host_name("halves")]] kernel void product<half>(device float*, device const half*, device const half*, uint);
template [[host_name("bfloats")]] kernel void product<bfloat>(device float*, device const bfloat*, device const bfloat*, uint);
template [[host_name("floats")]] kernel void product<float>(device float*, device const float*, device const float*, uint);
)";
  const std::string seen = source + R"(
kernel void lanes(device float* out, device const half* in, uint lane [[thread_index_in_simdgroup]]) {
  simdgroup_half8x8 m, n(1.0h);
  simdgroup_load(m, in, 8);
  simdgroup_float8x8 product;
  simdgroup_multiply(product, m, n);
  out[2 * lane] = product.thread_elements()[0];
  out[2 * lane + 1] = product.thread_elements()[1];
}
)";
  CompileOptions options;
  options.tensor_cores = true;
  const auto a = each(8 * 16, [](int i) { return static_cast<float>(i * 7 % 13 - 6); });
  const auto b = each(16 * 16, [](int i) { return static_cast<float>(i * 5 % 11 - 5); });
  const auto as = [](const std::vector<float>& from, auto kind) {
    std::vector<decltype(kind)> made;
    for (const float each : from) made.emplace_back(each);
    return from_host(made);
  };
  for (const std::string& text : {source, seen}) {
    const ShaderLibrary library = metal(text, options);
    const auto check = [&](const char* name, const Tensor& left, const Tensor& right) {
      const Tensor out = zeros({129});
      library[name].threads(64).group(32)(out, left, right);
      const auto got = out.to_host<float>();
      for (int row = 0; row < 8; ++row) {
        for (int column = 0; column < 16; ++column) {
          float sum = 3;
          for (int k = 0; k < 16; ++k) sum += a[at(row, k, 16)] * b[at(column, k, 16)];
          ASSERT_EQ(got[at(row, column, 16)], sum) << name << " " << row << ", " << column;
        }
      }
      EXPECT_EQ(got[128], 2 * a[at(3, 13, 16)]) << name;
    };
    check("halves", as(a, Half()), as(b, Half()));
    check("bfloats", as(a, BFloat16()), as(b, BFloat16()));
    check("floats", from_host(a), from_host(b));
  }
  const Tensor out = zeros({64});
  metal(seen, options)["lanes"].threads(32).group(32)(out, as(a, Half()));
  const auto got = out.to_host<float>();
  for (int lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(got[static_cast<size_t>(2 * lane)], a[at(row_of(lane), column_of(lane), 8)]) << lane;
    EXPECT_EQ(got[static_cast<size_t>(2 * lane + 1)], a[at(row_of(lane), column_of(lane) + 1, 8)]) << lane;
  }
}

// The elements of an array that have no value of their own are zero.
TEST_P(MetalMatrixTest, ArraysWithFewValuesHaveZeros) {
  const ShaderLibrary library = metal(R"(
struct Pair { float a; int b; Pair() = default; Pair(float x) : a(x), b(7) {} };
kernel void zeros(device float* out, uint lane [[thread_index_in_simdgroup]]) {
  simdgroup_float8x8 tiles[3] = {simdgroup_float8x8(1.0f)};
  simdgroup_float8x8 none[2] = {};
  Pair pairs[3] = {Pair(3.0f)};
  Pair empty{}, called = Pair();
  for (int i = 0; i < 3; ++i) simdgroup_store(tiles[i], out + 64 * i);
  for (int i = 0; i < 2; ++i) simdgroup_store(none[i], out + 192 + 64 * i);
  if (lane == 0) {
    out[320] = pairs[0].a + float(pairs[0].b);
    out[321] = pairs[1].a + float(pairs[1].b) + pairs[2].a + float(pairs[2].b);
    out[322] = empty.a + float(empty.b) + called.a + float(called.b);
  }
}
)");
  const Tensor out = full({323}, 5);
  library["zeros"].threads(32).group(32)(out);
  const auto got = out.to_host<float>();
  for (size_t i = 0; i < 320; ++i) ASSERT_EQ(got[i], i < 64 && i % 9 == 0 ? 1 : 0) << i;
  EXPECT_EQ(got[320], 10);
  EXPECT_EQ(got[321], 0);
  EXPECT_EQ(got[322], 0);
}

TEST_P(MetalMatrixTest, PartialSimdgroupsAreRefused) {
  const ShaderLibrary library = metal(R"(
kernel void product(device float* out, uint i [[thread_position_in_grid]]) {
  simdgroup_float8x8 a = make_filled_simdgroup_matrix<float, 8, 8>(2), c;
  simdgroup_multiply(c, a, a);
  simdgroup_store(c, out);
}
kernel void sums(device float* out, uint i [[thread_position_in_grid]]) { out[i] = simd_sum(1); })");
  const Tensor out = zeros({64});
  const Kernel product = library["product"];
  EXPECT_THAT(
      refusal([&] { product.threads(48).group(48)(out); }),
      HasSubstr("kernel \"product\" uses simdgroup matrices, which need all 32 threads of each simdgroup: 48 x 1 "
                "x 1 threads in groups of 48 x 1 x 1 have a group of 48 threads"));
  EXPECT_THAT(refusal([&] { product.threads(100).group(64)(out); }), HasSubstr("have a group of 36 threads"));
  EXPECT_THAT(refusal([&] { product.threads(20)(out); }), HasSubstr("have a group of 20 threads"));
  product.threads(8, 12).group(8, 4)(out);
  EXPECT_EQ(out.to_host<float>()[63], 32);
  library["sums"].threads(48).group(48)(out);
  EXPECT_EQ(out.to_host<float>()[47], 16) << "other operations work with the threads that exist";
}

TEST_P(MetalMatrixTest, OtherSizesAreRefused) {
  EXPECT_NE(errors_of("kernel void f() { simdgroup_matrix<float, 4, 4> m; }").find("8 columns and 8 rows"),
            std::string::npos);
}

}  // namespace
}  // namespace kymo::device::tests
