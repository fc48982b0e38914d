// Textures over tensors on every device: what is refused when a kernel is called, and what is an error of its source.
#include "device/test_metal.h"

namespace kymo::device::tests {
namespace {

using ::testing::HasSubstr;

class MetalTextureErrorsTest : public MetalTest {};
KYMO_ON_EVERY_DEVICE(MetalTextureErrorsTest);

TEST_P(MetalTextureErrorsTest, WrongTensorsAreRefused) {
  const ShaderLibrary library = metal(R"(
kernel void floats(texture2d<float> image, sampler s) {}
kernel void ints(texture2d<int> image) {}
kernel void volume(texture3d<half> image) {}
)");
  const auto refused = [&](const char* name, const auto& image) {
    return refusal([&] { library[name].threads(1)(image); });
  };
  EXPECT_THAT(refused("ints", zeros({4, 4})),
              HasSubstr("argument 1 (image) of kernel \"ints\": a texture2d of i32 takes a tensor of i32, i16, i8; it "
                        "was given f32 [4, 4]"));
  EXPECT_THAT(refused("volume", zeros({4, 4})),
              HasSubstr("a texture3d takes a tensor of shape [depth, height, width] or [depth, height, width, "
                        "channels]; it was given f32 [4, 4]"));
  EXPECT_THAT(refused("ints", zeros({4, 4, 5}, DType::I32)), HasSubstr("has 1 to 4 channels"));
  EXPECT_THAT(refused("ints", zeros({0, 4}, DType::I32)), HasSubstr("has 1 to 536870912 pixels in each dimension"));
  EXPECT_THAT(refused("volume", zeros({2, 2, 2}, DType::F64)), HasSubstr("it was given f64 [2, 2, 2]"));
  EXPECT_THAT(refused("ints", 3),
              HasSubstr("argument 1 (image) of kernel \"ints\" is a texture and takes a tensor: of shape [height, "
                        "width] or [height, width, channels]; it was given a number"));
  EXPECT_THAT(refusal([&] { library["floats"].threads(1)(zeros({2, 2}), zeros({2})); }), HasSubstr("argument 2 (s)"));
}

TEST_P(MetalTextureErrorsTest, WrongUsesAreErrors) {
  EXPECT_THAT(errors_of("kernel void f(texture2d<float, access::read> t) { t.write(float4(1), uint2(0)); }"),
              HasSubstr("this texture is read-only: declare it access::write or access::read_write to write to it"));
  EXPECT_THAT(errors_of("kernel void f(texture2d<float> t) { t.write(float4(1), uint2(0)); }"),
              HasSubstr("this texture is read-only"));
  EXPECT_THAT(
      errors_of("kernel void f(texture2d<float, access::write> t, device float4* o) { o[0] = t.read(uint2(0)); }"),
      HasSubstr("declare it access::read_write to read it too"));
  EXPECT_THAT(
      errors_of("constexpr sampler s;\nkernel void f(texture2d<float, access::read> t, device float4* o) { o[0] = "
                "t.sample(s, float2(0)); }"),
      HasSubstr("can be sampled: use read()"));
  EXPECT_THAT(errors_of("kernel void f(texture2d<long> t) {}"), HasSubstr("a texture is of float, half, int, uint"));
  EXPECT_THAT(errors_of("kernel void f(texturecube<float> t) {}"), HasSubstr("\"texturecube\" is not supported"));
  EXPECT_THAT(errors_of("kernel void f(texture2d<float> t [[buffer(0)]]) {}"), HasSubstr("it takes [[texture(n)]]"));
  EXPECT_THAT(errors_of("kernel void f(texture2d<float> t [[texture(1)]], texture2d<float> u [[texture(1)]]) {}"),
              HasSubstr("two parameters have [[texture(1)]]"));
  EXPECT_THAT(errors_of("kernel void f(device float* p [[texture(0)]]) {}"), HasSubstr("[[texture]] is for a texture"));
  EXPECT_THAT(errors_of("kernel void f(texture2d<float> t [[texture(200)]]) {}"), HasSubstr("from 0 to 127, not 200"));
  EXPECT_THAT(errors_of("struct S { texture2d<float> t; };\nkernel void f(constant S& s) {}"),
              HasSubstr("textures in structures, arrays and buffers are not supported"));
  EXPECT_THAT(errors_of("namespace own { namespace metal { struct texture2d {}; } }\nkernel void "
                        "f(own::metal::texture2d t) {}"),
              HasSubstr("which cannot be passed"));
  EXPECT_THAT(errors_of("kernel void f(array<texture2d<float>, 2> t) {}"), HasSubstr("are not supported"));
}

}  // namespace
}  // namespace kymo::device::tests
