// Textures over tensors on every device: the same results as a host that reads, converts and filters by the same rules.
#include <array>

#include "device/test_metal.h"

namespace kymo::device::tests {
namespace {

class MetalTextureTest : public MetalTest {};
KYMO_ON_EVERY_DEVICE(MetalTextureTest);

using Pixel = std::array<float, 4>;
using Address = Sampler::Address;

// An image of floats on the host, and the rules of sampling.
struct Image {
  int width, height, depth, channels;
  std::vector<float> values;

  Pixel at(int x, int y, int z) const {
    Pixel pixel = {0, 0, 0, 1};
    for (int c = 0; c < channels; ++c)
      pixel[static_cast<size_t>(c)] = values[static_cast<size_t>(((z * height + y) * width + x) * channels + c)];
    return pixel;
  }
  static int wrapped(int i, int size, Address mode) {
    switch (mode) {
      case Address::ClampToEdge:
        return std::clamp(i, 0, size - 1);
      case Address::Repeat:
        return ((i % size) + size) % size;
      case Address::MirroredRepeat: {
        const int rest = ((i % (2 * size)) + 2 * size) % (2 * size);
        return rest < size ? rest : 2 * size - 1 - rest;
      }
      default:
        return i < 0 || i >= size ? -1 : i;
    }
  }
  Pixel fetched(const Sampler& sampler, int dimensions, std::array<int, 3> at_place) const {
    const int sizes[] = {width, height, depth};
    for (int d = 0; d < dimensions; ++d) {
      int& place = at_place[static_cast<size_t>(d)];
      place = wrapped(place, sizes[d], sampler.address);
      if (place >= 0) continue;
      if (sampler.address == Address::ClampToZero) return {0, 0, 0, channels == 4 ? 0.0f : 1.0f};
      const float color = sampler.border == Sampler::Border::OpaqueWhite ? 1.0f : 0.0f;
      return {color, color, color, sampler.border == Sampler::Border::TransparentBlack ? 0.0f : 1.0f};
    }
    return at(at_place[0], at_place[1], at_place[2]);
  }
  static Pixel mixed(const Pixel& a, const Pixel& b, float weight) {
    Pixel made;
    for (size_t i = 0; i < 4; ++i) made[i] = a[i] + (b[i] - a[i]) * weight;
    return made;
  }
  Pixel sampled(const Sampler& sampler, int dimensions, std::array<float, 3> where, int layer) const {
    const int sizes[] = {width, height, depth};
    std::array<int, 3> low = {0, 0, layer};
    std::array<float, 3> weights = {0, 0, 0};
    for (size_t d = 0; d < static_cast<size_t>(dimensions); ++d) {
      const float in_pixels = sampler.pixels ? where[d] : where[d] * static_cast<float>(sizes[d]);
      float place = std::fmin(std::fmax(in_pixels, -1.0e9f), 1.0e9f);
      if (sampler.filter == Sampler::Filter::Linear) place -= 0.5f;
      low[d] = static_cast<int>(std::floor(place));
      weights[d] = place - std::floor(place);
    }
    if (sampler.filter == Sampler::Filter::Nearest) return fetched(sampler, dimensions, low);
    const auto corner = [&](int x, int y, int z) {
      return fetched(sampler, dimensions, {low[0] + x, low[1] + y, low[2] + z});
    };
    const auto row = [&](int y, int z) { return mixed(corner(0, y, z), corner(1, y, z), weights[0]); };
    const auto plane = [&](int z) { return dimensions < 2 ? row(0, z) : mixed(row(0, z), row(1, z), weights[1]); };
    return dimensions < 3 ? plane(0) : mixed(plane(0), plane(1), weights[2]);
  }
};

Image image_of(int width, int height, int depth, int channels) {
  return {width, height, depth, channels, each(width * height * depth * channels, [](int i) {
            return static_cast<float>(i * 37 % 101) / 16.0f - 2.0f;
          })};
}

std::vector<Sampler> every_sampler() {
  std::vector<Sampler> all;
  for (const auto address :
       {Address::ClampToEdge, Address::Repeat, Address::MirroredRepeat, Address::ClampToZero, Address::ClampToBorder}) {
    for (const auto filter : {Sampler::Filter::Nearest, Sampler::Filter::Linear}) {
      for (const bool pixels : {false, true}) {
        const auto border = pixels ? Sampler::Border::OpaqueWhite : Sampler::Border::OpaqueBlack;
        all.push_back({filter, address, border, pixels});
      }
    }
  }
  return all;
}

std::string shown(const Sampler& sampler, float x) {
  return "filter " + std::to_string(static_cast<int>(sampler.filter)) + ", address " +
         std::to_string(static_cast<int>(sampler.address)) + ", pixels " + std::to_string(sampler.pixels) + ", at " +
         std::to_string(x);
}

// ---- Sampling ------------------------------------------------------------------------------------------------------

constexpr int kPoints = 96;

// From far outside to far outside, most of them inside and at the edges.
float point(int i, float size) { return (static_cast<float>(i) * 0.046875f - 1.75f) * size + 0.013f; }

TEST_P(MetalTextureTest, SamplesInEveryAddressMode) {
  const ShaderLibrary library = metal(R"(
kernel void plane(device float4* out, texture2d<float> image [[texture(0)]], sampler how [[sampler(0)]],
                  device const float2* points, uint i [[thread_position_in_grid]]) {
  out[i] = image.sample(how, points[i]);
}
kernel void line(device float4* out, texture1d<float> image [[texture(0)]], sampler how [[sampler(0)]],
                 device const float2* points, uint i [[thread_position_in_grid]]) {
  out[i] = image.sample(how, points[i].x);
}
kernel void layers(device float4* out, texture2d_array<float> image [[texture(0)]], sampler how [[sampler(0)]],
                   device const float2* points, uint i [[thread_position_in_grid]]) {
  out[i] = image.sample(how, points[i], i % 5);
}
kernel void volume(device float4* out, texture3d<float> image [[texture(0)]], sampler how [[sampler(0)]],
                   device const float2* points, uint i [[thread_position_in_grid]]) {
  out[i] = image.sample(how, float3(points[i], points[i].x * 0.5f));
}
)");
  struct Case {
    const char* kernel;
    int dimensions;
    Image image;
    Shape shape;
  };
  const Case cases[] = {{"plane", 2, image_of(7, 5, 1, 4), {5, 7, 4}},
                        {"plane", 2, image_of(6, 3, 1, 1), {3, 6}},
                        {"line", 1, image_of(9, 1, 1, 3), {9, 3}},
                        {"layers", 2, image_of(4, 6, 3, 2), {3, 6, 4, 2}},
                        {"volume", 3, image_of(4, 3, 5, 4), {5, 3, 4, 4}}};
  for (const Case& one : cases) {
    const Tensor image = from_host(one.image.values, one.shape);
    for (const Sampler& sampler : every_sampler()) {
      std::vector<float> points;
      for (int i = 0; i < kPoints; ++i) {
        points.push_back(point(i, sampler.pixels ? static_cast<float>(one.image.width) : 1.0f));
        points.push_back(point(i * 7 % kPoints, sampler.pixels ? static_cast<float>(one.image.height) : 1.0f));
      }
      const Tensor out = zeros({kPoints, 4});
      library[one.kernel].threads(kPoints)(out, image, sampler, from_host(points, {kPoints, 2}));
      const auto got = out.to_host<float>();
      for (int i = 0; i < kPoints; ++i) {
        const auto at = static_cast<size_t>(i);
        const float x = points[2 * at], y = points[2 * at + 1];
        const Pixel wanted = one.image.sampled(sampler, one.dimensions, {x, y, x * 0.5f},
                                               one.dimensions == 2 ? std::min(i % 5, one.image.depth - 1) : 0);
        for (size_t c = 0; c < 4; ++c)
          ASSERT_EQ(got[4 * at + c], wanted[c]) << one.kernel << ", " << shown(sampler, x) << ", channel " << c;
      }
    }
  }
}

TEST_P(MetalTextureTest, SamplersOfTheSourceAreConstants) {
  const ShaderLibrary library = metal(R"(
constexpr sampler everywhere(coord::pixel, address::mirrored_repeat, filter::linear);
constant constexpr sampler zero(address::clamp_to_zero, filter::nearest, coord::normalized);
template <typename T> float4 through(texture2d<T> image, sampler s, float2 at) { return float4(image.sample(s, at)); }
kernel void samples(device float4* out, texture2d<float, access::sample> image [[texture(0)]], texture2d<half> halves [[texture(1)]]) {
  constexpr sampler white(s_address::clamp_to_border, t_address::repeat, border_color::opaque_white, mag_filter::nearest, min_filter::nearest);
  constexpr sampler usual;
  const sampler chosen(max_anisotropy(4), lod_clamp(0.0f, 1.0f), mip_filter::linear, address::repeat);
  out[0] = image.sample(everywhere, float2(-1.25f, 7.5f));
  out[1] = image.sample(zero, float2(1.5f, 0.5f));
  out[2] = image.sample(white, float2(1.5f, 0.5f));
  out[3] = image.sample(white, float2(0.5f, 1.5f));
  out[4] = image.sample(usual, float2(9.0f, 0.0f), level(2.0f));
  out[5] = through(image, chosen, float2(1.25f, -0.25f));
  out[6] = through(halves, zero, float2(0.9f, 0.1f));
  out[7] = image.sample(usual, float2(0.5f), int2(1, -1));
  out[8] = image.sample(everywhere, float2(NAN, INFINITY), gradient2d(float2(0), float2(0)));
  out[9] = image.gather(usual, float2(0.5f, 0.5f), int2(0), component::y);
}
)");
  const Image image = image_of(4, 4, 1, 4);
  const Tensor out = zeros({10, 4}), tensor = from_host(image.values, {4, 4, 4});
  library["samples"].threads(1)(out, tensor, tensor);
  const auto got = out.to_host<float>();
  const auto row = [&](size_t i) { return Pixel{got[4 * i], got[4 * i + 1], got[4 * i + 2], got[4 * i + 3]}; };
  const Sampler linear{Sampler::Filter::Linear, Address::MirroredRepeat, {}, true};
  EXPECT_EQ(row(0), image.sampled(linear, 2, {-1.25f, 7.5f, 0}, 0));
  EXPECT_EQ(row(1), (Pixel{0, 0, 0, 0}));
  EXPECT_EQ(row(2), (Pixel{1, 1, 1, 1}));
  EXPECT_EQ(row(3), image.at(2, 2, 0));
  EXPECT_EQ(row(4), image.at(3, 0, 0));
  EXPECT_EQ(row(5), image.at(1, 3, 0));
  EXPECT_EQ(row(6), image.at(3, 0, 0)) << "these numbers are halves";
  EXPECT_EQ(row(7), image.at(3, 1, 0));
  for (const float value : row(8)) EXPECT_TRUE(std::isfinite(value));
  EXPECT_EQ(row(9), (Pixel{image.at(1, 2, 0)[1], image.at(2, 2, 0)[1], image.at(2, 1, 0)[1], image.at(1, 1, 0)[1]}));
}

// ---- Reading and writing -------------------------------------------------------------------------------------------

TEST_P(MetalTextureTest, EveryElementTypeIsReadAndWritten) {
  const ShaderLibrary library = metal(R"(
template <typename T> kernel void copy(texture2d<T, access::read> in [[texture(0)]], texture2d<T, access::write> out [[texture(1)]],
                                       uint2 at [[thread_position_in_grid]]) {
  out.write(in.read(at), at);
}
template [[host_name("floats")]] kernel void copy<float>(texture2d<float, access::read>, texture2d<float, access::write>, uint2);
template [[host_name("halves")]] kernel void copy<half>(texture2d<half, access::read>, texture2d<half, access::write>, uint2);
template [[host_name("ints")]] kernel void copy<int>(texture2d<int, access::read>, texture2d<int, access::write>, uint2);
template [[host_name("uints")]] kernel void copy<uint>(texture2d<uint, access::read>, texture2d<uint, access::write>, uint2);
template [[host_name("shorts")]] kernel void copy<short>(texture2d<short, access::read>, texture2d<short, access::write>, uint2);
template [[host_name("ushorts")]] kernel void copy<ushort>(texture2d<ushort, access::read>, texture2d<ushort, access::write>, uint2);
)");
  const std::pair<const char*, std::vector<DType>> cases[] = {
      {"floats", {DType::F32, DType::F16, DType::BF16, DType::U8, DType::U16, DType::I8, DType::I16}},
      {"halves", {DType::F16, DType::U8, DType::I8}},
      {"ints", {DType::I32, DType::I16, DType::I8}},
      {"uints", {DType::U32, DType::U16, DType::U8}},
      {"shorts", {DType::I16, DType::I8}},
      {"ushorts", {DType::U16, DType::U8}}};
  for (const auto& [kernel, types] : cases) {
    for (const DType type : types) {
      for (int64_t channels = 1; channels <= 4; ++channels) {
        // Bytes of every value; floats are small integers, so that none is a NaN.
        const Shape shape = {5, 7, channels};
        Tensor in = empty(shape, type);
        const Tensor out = zeros(shape, type);
        std::vector<std::byte> bytes(in.bytes());
        for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 89 + 3);
        in.copy_from_bytes(bytes);
        if (is_floating(type)) in = arange(-20, static_cast<double>(in.elements()) - 20, 1, type).reshape(shape);
        library[kernel](in, out);
        std::vector<std::byte> wanted = in.to_host_bytes();
        // As a fraction, the smallest number of a signed type is -1, as the next one is.
        const bool is_fraction = std::string_view(kernel) == "floats" || std::string_view(kernel) == "halves";
        if (is_fraction && type == DType::I8) std::ranges::replace(wanted, std::byte{0x80}, std::byte{0x81});
        EXPECT_EQ(out.to_host_bytes(), wanted) << kernel << ", " << name_of(type) << ", " << channels << " channels";
      }
    }
  }
}

TEST_P(MetalTextureTest, IntegersInATextureOfFloatsAreFractions) {
  const ShaderLibrary library = metal(R"(
kernel void read(device float4* out, texture1d<float, access::read> in, uint i [[thread_position_in_grid]]) { out[i] = in.read(i); }
kernel void write(texture1d<float, access::write> out, device const float* in, uint i [[thread_position_in_grid]]) { out.write(float4(in[i], 0, 0, 0), i); }
kernel void ints(texture1d<int, access::write> out, device const int* in, uint i [[thread_position_in_grid]]) { out.write(int4(in[i]), i); }
)");
  const Tensor out = zeros({3, 4});
  library["read"].threads(3)(out, from_host(std::vector<uint8_t>{0, 51, 255}));
  EXPECT_EQ(out.to_host<float>(), (std::vector<float>{0, 0, 0, 1, 51.0f / 255.0f, 0, 0, 1, 1, 0, 0, 1}));
  library["read"].threads(3)(out, from_host(std::vector<int16_t>{-32768, 0, 32767}));
  EXPECT_EQ(out.to_host<float>(), (std::vector<float>{-1, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 1}));

  const auto numbers = from_host(std::vector<float>{-3, 0.25f, 0.5f, 1, 9, NAN});
  const Tensor bytes = zeros({6}, DType::U8), small = zeros({6}, DType::I8);
  library["write"](bytes, numbers);
  EXPECT_EQ(bytes.to_host<uint8_t>(), (std::vector<uint8_t>{0, 64, 128, 255, 255, 0}));
  library["write"](small, numbers);
  EXPECT_EQ(small.to_host<int8_t>(), (std::vector<int8_t>{-127, 32, 64, 127, 127, 0}));
  library["ints"](small, from_host(std::vector<int32_t>{-1000, -128, -1, 127, 128, 0}));
  EXPECT_EQ(small.to_host<int8_t>(), (std::vector<int8_t>{-128, -128, -1, 127, 127, 0}));
}

TEST_P(MetalTextureTest, SizesLayersAndPlacesOutside) {
  const ShaderLibrary library = metal(R"(
kernel void sizes(device uint* out, texture1d<float> a [[texture(3)]], texture2d<float> b [[texture(2)]], texture3d<float> c [[texture(1)]],
                  texture2d_array<float> d [[texture(0)]]) {
  out[0] = a.get_width(); out[1] = b.get_width(); out[2] = b.get_height(); out[3] = c.get_width(); out[4] = c.get_height();
  out[5] = c.get_depth(); out[6] = d.get_width(); out[7] = d.get_height(); out[8] = d.get_array_size(); out[9] = d.get_num_mip_levels();
}
kernel void outside(device float4* out, texture2d<float, access::read_write> image, texture3d<float, access::write> volume) {
  out[0] = image.read(uint2(4, 0));
  out[1] = image.read(uint2(0, 0xffffffffu));
  image.write(float4(5), uint2(4, 0));
  image.write(float4(5), uint2(0, 3));
  image.write(float4(9), ushort2(1, 2));
  out[2] = image.read(ushort2(1, 2));
  volume.write(float4(7), uint3(0, 0, 2));
  volume.write(float4(8), uint3(1, 0, 1));
}
kernel void turned(texture2d_array<float, access::write> out, texture2d_array<float, access::read> in, uint3 at [[thread_position_in_grid]]) {
  out.write(in.read(at.xy, at.z).yxzw, at.xy, in.get_array_size() - 1 - at.z);
}
)");
  const Tensor sizes = zeros({10}, DType::U32);
  library["sizes"].threads(1)(sizes, zeros({4, 6, 5}), zeros({9, 8, 7, 2}), zeros({3, 2}), zeros({11}));
  EXPECT_EQ(sizes.to_host<uint32_t>(), (std::vector<uint32_t>{11, 2, 3, 7, 8, 9, 5, 6, 4, 1}));

  // A part of a larger tensor: what is outside of the part is not changed.
  const Tensor whole = full({5, 6}, 1), volume = zeros({2, 1, 2}), out = zeros({3, 4});
  library["outside"].threads(1)(out, whole.slice(0, 0, 3).slice(1, 0, 4), volume);
  EXPECT_EQ(out.to_host<float>(), (std::vector<float>{0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 1}));
  std::vector<float> wanted(30, 1);
  wanted[13] = 9;
  EXPECT_EQ(whole.to_host<float>(), wanted);
  EXPECT_EQ(volume.to_host<float>(), (std::vector<float>{0, 0, 0, 8}));

  // One thread for each pixel; every second column of the source.
  const auto values = each(3 * 4 * 10 * 2, [](int i) { return static_cast<float>(i); });
  const Tensor in = from_host(values, {3, 4, 10, 2}).slice(2, 0, 10, 2), layers = zeros({3, 4, 5, 2});
  library["turned"](layers, in);
  const auto got = layers.to_host<float>();
  for (int z = 0; z < 3; ++z)
    for (int y = 0; y < 4; ++y)
      for (int x = 0; x < 5; ++x)
        for (int c = 0; c < 2; ++c)
          ASSERT_EQ(got[static_cast<size_t>((((2 - z) * 4 + y) * 5 + x) * 2 + c)],
                    values[static_cast<size_t>(((z * 4 + y) * 10 + 2 * x) * 2 + 1 - c)]);
}

// A filter as samples of image processing have it, over threadgroups at the edges too.
TEST_P(MetalTextureTest, ABlurEqualsTheHosts) {
  const ShaderLibrary library = metal(R"(
constant float weights[3] = {0.25f, 0.5f, 0.25f};
kernel void blur(texture2d<half, access::read> source [[texture(0)]], texture2d<half, access::write> target [[texture(1)]],
                 constant int& rounds [[buffer(0)]], uint2 at [[thread_position_in_grid]]) {
  if (at.x >= target.get_width() || at.y >= target.get_height()) return;
  float3 sum = float3(0);
  for (int y = -1; y <= 1; ++y)
    for (int x = -1; x <= 1; ++x) {
      const int2 place = clamp(int2(at) + int2(x, y), int2(0), int2(source.get_width(), source.get_height()) - 1);
      sum += weights[x + 1] * weights[y + 1] * float3(source.read(uint2(place)).rgb);
    }
  target.write(half4(half3(sum * float(rounds)), 1), at);
}
)");
  constexpr int kWidth = 19, kHeight = 13;
  const auto bytes = each(kWidth * kHeight * 4, [](int i) { return static_cast<uint8_t>(i * 41); });
  const Tensor source = from_host(bytes, {kHeight, kWidth, 4}), target = zeros({kHeight, kWidth, 4}, DType::F16);
  library["blur"].threads(32, 16).group(8, 8)(source, target, 1);
  const auto got = target.to_host<float>();
  const float weights[] = {0.25f, 0.5f, 0.25f};
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      for (int c = 0; c < 3; ++c) {
        float sum = 0;
        for (int j = -1; j <= 1; ++j)
          for (int i = -1; i <= 1; ++i) {
            const int px = std::clamp(x + i, 0, kWidth - 1), py = std::clamp(y + j, 0, kHeight - 1);
            const float value = static_cast<float>(bytes[static_cast<size_t>((py * kWidth + px) * 4 + c)]) / 255.0f;
            sum += weights[i + 1] * weights[j + 1] * static_cast<float>(Half(value));
          }
        ASSERT_EQ(got[static_cast<size_t>((y * kWidth + x) * 4 + c)], static_cast<float>(Half(sum))) << x << ", " << y;
      }
    }
  }
}

TEST_P(MetalTextureTest, AnAbsentTextureIsNull) {
  const ShaderLibrary library = metal(R"(
constant bool has_mask [[function_constant(0)]];
kernel void f(device float* out, texture2d<float> image, texture2d<float> mask [[texture(1), function_constant(has_mask)]]) {
  out[0] = is_null_texture(image) ? 1 : 2;
  out[1] = is_null_texture(mask) ? 1 : 2;
  out[2] = mask.read(uint2(0)).x;
}
)",
                                      {.constants = {{"has_mask", 0}}});
  const Tensor out = full({3}, 5);
  library["f"].threads(1)(out, zeros({2, 2}));
  EXPECT_EQ(out.to_host<float>(), (std::vector<float>{2, 1, 0}));
}

// ---- Wrong uses ----------------------------------------------------------------------------------------------------

}  // namespace
}  // namespace kymo::device::tests
