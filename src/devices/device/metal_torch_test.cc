// Kernels in the style of PyTorch's users.
#include <numeric>

#include "device/test_metal.h"

namespace kymo::device::tests {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

class MetalTorchTest : public MetalTest {};
KYMO_ON_EVERY_DEVICE(MetalTorchTest);

TEST_P(MetalTorchTest, FirstExampleRunsUnchanged) {
  const ShaderLibrary library = compile_shader(
      "kernel void full(device float* out, constant float& val, uint idx [[thread_position_in_grid]]) { out[idx] = "
      "val; }");
  const Tensor x = zeros({16});
  library["full"](x, 3.14);
  EXPECT_EQ(x.to_host<float>(), std::vector<float>(16, 3.14f));
}

TEST_P(MetalTorchTest, HalfStorage) {
  const ShaderLibrary library =
      metal("kernel void number(device half* out, uint i [[thread_position_in_grid]]) { out[i] = i; }");
  const Tensor x = zeros({12}, DType::F16);
  library["number"](x);
  EXPECT_EQ(x.to_host<float>(), each(12, [](int i) { return static_cast<float>(i); }));
}

TEST_P(MetalTorchTest, ThreeDimensions) {
  const ShaderLibrary library = metal(R"(
kernel void along_x(device float* out, uint3 i [[thread_position_in_grid]]) { out[i.x + i.y + i.z] = i.x; }
kernel void along_y(device float* out, uint3 i [[thread_position_in_grid]]) { out[i.x + i.y + i.z] = i.y; }
kernel void along_z(device float* out, uint3 i [[thread_position_in_grid]]) { out[i.x + i.y + i.z] = i.z; }
)");
  EXPECT_THAT(library.kernel_names(), UnorderedElementsAre("along_x", "along_y", "along_z"));
  const auto wanted = each(12, [](int i) { return static_cast<float>(i); });
  const Tensor x = zeros({12}), y = zeros({12}), z = zeros({12});
  library["along_x"](x);
  library["along_y"].threads(1, 12)(y);
  library["along_z"].threads(1, 1, 12)(z);
  EXPECT_EQ(x.to_host<float>(), wanted);
  EXPECT_EQ(y.to_host<float>(), wanted);
  EXPECT_EQ(z.to_host<float>(), wanted);
}

TEST_P(MetalTorchTest, NumbersAreConvertedToTheParameterTypes) {
  const ShaderLibrary library = metal(R"(
kernel void line(device float* out, constant float& start, constant float& step, uint i [[thread_position_in_grid]]) { out[i] = start + i * step; }
kernel void half_line(device float* out, constant half2& both, uint i [[thread_position_in_grid]]) { out[i] = both.x + i * both.y; }
kernel void mixed(device float* out, constant half& start, constant float& step, uint i [[thread_position_in_grid]]) { out[i] = start + i * step; }
kernel void whole(device int* out, constant int& a, constant uchar& b, constant long& c, constant bool& d, uint i [[thread_position_in_grid]]) {
  out[i] = a + b + int(c >> 32) + (d ? 1000 : 0);
}
)");
  const auto line = each(8, [](int i) { return 3 + static_cast<float>(i) * 0.5f; });
  EXPECT_EQ(run<float>(library["line"], 8, 3, 0.5), line);
  EXPECT_EQ(run<float>(library["line"], 8, 3, from_host(std::vector<float>{0.5f})), line) << "a tensor for a number";
  const Tensor out = zeros({8});
  library["half_line"](out, std::vector<float>{3, 0.5f});
  EXPECT_EQ(out.to_host<float>(), line);
  EXPECT_EQ(run<float>(library["mixed"], 8, 3, 0.5), line);
  EXPECT_EQ(run<int32_t>(library["whole"], 2, -5, 250, int64_t{7} << 32, 1), (std::vector<int32_t>{1252, 1252}));
}

TEST_P(MetalTorchTest, WrongCallsAreRefused) {
  const ShaderLibrary library = metal("kernel void nothing(device float* out) {}");
  EXPECT_THROW(library["missing"], Error);
  EXPECT_THROW(library["nothing"](), InvalidArgument);
  const Tensor x = zeros({4});
  const uint64_t most = library["nothing"].max_threads_per_threadgroup();
  EXPECT_GT(most, 0u);
  EXPECT_THAT(refusal([&] { library["nothing"].threads(most * 4).group(most + 1)(x); }),
              HasSubstr(std::to_string(most)));
  EXPECT_THROW(library["nothing"].threads(64, 64).group(most, 2)(x), InvalidArgument);
  EXPECT_THROW(metal("kernel void f(device float* out { }"), CompileError);
  const ShaderLibrary empty_kernel = metal("kernel void foo() {}");
  EXPECT_GT(empty_kernel["foo"].max_threads_per_threadgroup(), 0u);
  empty_kernel["foo"].threads(3)();
}

TEST_P(MetalTorchTest, ManyBuffersThroughOneStructure) {
  const ShaderLibrary library = metal(R"(
constant constexpr auto kBuffers = 64;
struct Inputs {
  metal::array<device float*, kBuffers> buffers;
};
kernel void sum(device float* out, constant Inputs& inputs, uint i [[thread_position_in_grid]]) {
  out[i] = 0;
  for (int k = 0; k < kBuffers; ++k) out[i] += inputs.buffers[k][i];
}
)");
  std::vector<Tensor> inputs;
  for (int i = 0; i < 64; ++i) inputs.push_back(full({20}, i));
  const Tensor out = zeros({20});
  library["sum"](out, inputs);
  EXPECT_EQ(out.to_host<float>(), std::vector<float>(20, 2016));
}

TEST_P(MetalTorchTest, ALambda) {
  const ShaderLibrary library = metal(R"(
kernel void twice(device float* x, uint i [[thread_position_in_grid]]) {
  auto twice = [](float v) { return v * 2.0; };
  x[i] = twice(x[i]);
}
)");
  const Tensor x = from_host(std::vector<float>{1, 2, 3, 4});
  library["twice"](x);
  EXPECT_EQ(x.to_host<float>(), (std::vector<float>{2, 4, 6, 8}));
}

}  // namespace
}  // namespace kymo::device::tests
