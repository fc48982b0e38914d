// The inputs of a kernel: buffers, values, tables, function constants.
#include <span>

#include "device/test_metal.h"

namespace kymo::device::tests {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class MetalArgumentTest : public MetalTest {};
KYMO_ON_EVERY_DEVICE(MetalArgumentTest);

constexpr int kArgumentCount = 12;

TEST_P(MetalArgumentTest, BufferIndicesDetermineTheOrder) {
  const ShaderLibrary library = metal(R"(
kernel void backwards(device int* out [[buffer(3)]], constant int& a [[buffer(2)]], device const int* b [[buffer(1)]], constant int& c [[buffer(0)]],
                      uint i [[thread_position_in_grid]]) { out[i] = a * 100 + b[i] * 10 + c; }
kernel void gaps(uint i [[thread_position_in_grid]], device int* out [[buffer(5)]], constant int& a [[buffer(30)]], constant int& b [[buffer(7)]]) { out[i] = a * 10 + b; }
kernel void none(device int* out, constant int& a, uint i [[thread_position_in_grid]], constant int& b, uint n [[threads_per_grid]], device const int* c) { out[i] = a * 1000 + b * 100 + c[i] + int(n); }
)");
  const Tensor out = zeros({kArgumentCount}, DType::I32), in = full({kArgumentCount}, 5, DType::I32);
  library["backwards"](3, in, 7, out);
  EXPECT_THAT(in.to_host<int32_t>(), Each(5));
  EXPECT_THAT(out.to_host<int32_t>(), Each(753));
  library["gaps"](out, 4, 9);
  EXPECT_THAT(out.to_host<int32_t>(), Each(94));
  library["none"](out, 1, 2, in);
  EXPECT_THAT(out.to_host<int32_t>(), Each(1205 + kArgumentCount));
}

TEST_P(MetalArgumentTest, TensorsOfAnotherTypeAreRefused) {
  const ShaderLibrary library = metal(R"(
kernel void floats(device float* out, device const float* in, uint i [[thread_position_in_grid]]) { out[i] = in[i]; }
kernel void words(device uint* out, uint i [[thread_position_in_grid]]) { out[i] = i; }
kernel void pairs(device float2* out, uint i [[thread_position_in_grid]]) { out[i] = float2(i, 1); }
kernel void bytes(device uchar* out, uint i [[thread_position_in_grid]]) { out[i] = 255; }
kernel void halves(device half* out, uint i [[thread_position_in_grid]]) { out[i] = i; }
)");
  const Tensor floats = zeros({4});
  const auto refused = [&](const char* name, const Tensor& out) {
    return refusal([&] { library[name].threads(1)(out); });
  };
  EXPECT_THAT(refusal([&] { library["floats"](zeros({4}, DType::I16), floats); }),
              HasSubstr("argument 1 (out) of kernel \"floats\" points to f32, and was given a tensor of i16 [4]"));
  EXPECT_THAT(refusal([&] { library["floats"](floats, zeros({4}, DType::I32)); }), HasSubstr("a tensor of i32 [4]"));
  EXPECT_THAT(refused("words", floats), HasSubstr("points to u32"));
  EXPECT_THAT(refused("pairs", zeros({4}, DType::I32)), HasSubstr("points to f32"));
  EXPECT_THAT(refused("halves", zeros({4}, DType::BF16)), HasSubstr("points to f16"));
  EXPECT_THAT(refused("words", zeros({4}, DType::I32)), HasSubstr("nothing was refused"));
  EXPECT_THAT(refused("pairs", floats), HasSubstr("nothing was refused"));
  EXPECT_THAT(refused("bytes", floats), HasSubstr("nothing was refused"));
}

TEST_P(MetalArgumentTest, OutputsAreTensors) {
  const ShaderLibrary library = metal(R"(
kernel void copy(device float* out, device const float* in, constant float* more, uint i [[thread_position_in_grid]]) { out[i] = in[i] + more[i]; }
)");
  const Tensor out = zeros({2});
  const std::vector<float> list{1, 2};
  EXPECT_THAT(refusal([&] { library["copy"].threads(2)(list, out, out); }),
              HasSubstr("argument 1 (out) of kernel \"copy\" is written by the kernel and takes a tensor"));
  EXPECT_THAT(refusal([&] { library["copy"].threads(2)(1.0, out, out); }), HasSubstr("it was given a number"));
  library["copy"].threads(2)(out, list, list);
  EXPECT_THAT(out.to_host<float>(), ElementsAre(2, 4));
}

TEST_P(MetalArgumentTest, ATensorOfOneDoubleIsNarrowed) {
  const ShaderLibrary library = metal(R"(
kernel void fill(device float* out, constant float& value, uint i [[thread_position_in_grid]]) { out[i] = value; }
)");
  const Tensor out = zeros({3});
  library["fill"](out, full({}, 2.5, DType::F64));
  EXPECT_THAT(out.to_host<float>(), Each(2.5f));
  EXPECT_THAT(refusal([&] { library["fill"](out, full({1}, 2.5, DType::F64)); }), HasSubstr("a tensor of f64 [1]"));
}

TEST_P(MetalArgumentTest, ManyArguments) {
  const ShaderLibrary library = metal(R"(
kernel void buffers(device float* out, device const float* a, device const float* b, device const float* c, device const float* d, device const float* e, device const float* f,
                    device const float* g, device const float* h, constant float* r, device const half* s, device const uchar* t, uint at [[thread_position_in_grid]]) {
  out[at] = a[at] + b[at] * 2 + c[at] * 3 + d[at] * 4 + e[at] * 5 + f[at] * 6 + g[at] * 7 + h[at] * 8 + r[2] + float(s[at]) + t[at];
}
kernel void values(device float* out, constant float& i, constant half& k, constant long& m, constant bool& o, constant ushort2& p, constant char3& q, uint at [[thread_position_in_grid]]) {
  out[at] = i + float(k) + float(m) + (o ? 1000 : 0) + p.y + q.z;
}
)");
  const Tensor ones = full({kArgumentCount}, 1), halves = full({kArgumentCount}, 0.25, DType::F16),
               bytes = full({kArgumentCount}, 200, DType::U8);
  const Tensor out = zeros({kArgumentCount});
  library["buffers"](out, ones, ones, ones, ones, ones, ones, ones, ones, std::vector<float>{7, 8, 9}, halves, bytes);
  EXPECT_THAT(out.to_host<float>(), Each(36 + 9 + 0.25f + 200));
  library["values"](out, 0.5, 2.5, 1 << 20, true, std::vector<int>{5, 60000}, std::vector<int>{1, 2, -100});
  EXPECT_THAT(out.to_host<float>(), Each(0.5f + 2.5f + 1048576 + 1000 + 60000 - 100));
}

TEST_P(MetalArgumentTest, ValuesOfEveryShape) {
  const ShaderLibrary library = metal(R"(
struct Settings { float scale; int offsets[3]; packed_half3 weights; uchar flag; ulong big; };
kernel void structure(device float* out, constant Settings& s, uint i [[thread_position_in_grid]]) {
  const Settings copy = s;
  out[i] = s.scale * i + s.offsets[i % 3] + float(copy.weights[i % 3]) + (s.flag ? 1000 : 0) + float(copy.big >> 40);
}
float scaled(constant Settings& s, float x) { return x * s.scale; }
float through(constant Settings* s, float x) { return scaled(*s, x) + s->offsets[1]; }
kernel void handed_on(device float* out, constant Settings& s, uint i [[thread_position_in_grid]]) { out[i] = through(&s, float(i)); }
kernel void matrix(device float* out, constant float4 (&rows)[2], uint i [[thread_position_in_grid]]) { out[i] = rows[i % 2][i % 4]; }
kernel void by_device_reference(device int& counter, device const float3& v, device float* out, uint i [[thread_position_in_grid]]) {
  if (i == 0) counter = 17;
  out[i] = v.x + v.y * 10 + v.z * 100;
}
kernel void plain(device float* out, constant array<int, 4>& a, constant packed_float3& p, constant uint3& u, uint i [[thread_position_in_grid]]) { out[i] = a[i % 4] + p[2] * 100 + u.y * 1000; }
)");
  struct Settings {
    float scale = 0.5f;
    int32_t offsets[3] = {10, 20, 30};
    uint16_t weights[3] = {0x3c00, 0x4000, 0x4200};  // 1, 2, 3
    uint8_t flag = 1;
    uint64_t big = uint64_t{77} << 40;
  };
  const std::vector<Settings> settings(1);
  const auto bytes = std::as_bytes(std::span(settings));
  const auto count = static_cast<uint64_t>(kArgumentCount);
  const Tensor out = zeros({kArgumentCount});
  library["structure"].threads(count)(out, bytes);
  EXPECT_EQ(out.to_host<float>(), each(kArgumentCount, [](int i) {
              return static_cast<float>(i) * 0.5f + static_cast<float>((i % 3 + 1) * 11) + 1077;
            }));
  library["handed_on"].threads(count)(out, bytes);
  EXPECT_EQ(out.to_host<float>(), each(kArgumentCount, [](int i) { return static_cast<float>(i) * 0.5f + 20; }));
  library["matrix"](out, std::vector<float>{0, 1, 2, 3, 10, 11, 12, 13});
  EXPECT_EQ(out.to_host<float>(), each(kArgumentCount, [](int i) { return static_cast<float>(i % 2 * 10 + i % 4); }));
  const Tensor counter = zeros({1}, DType::I32);
  library["by_device_reference"].threads(count)(counter, from_host(std::vector<float>{1, 2, 3, 0}), out);
  EXPECT_THAT(out.to_host<float>(), Each(321.0f));
  EXPECT_THAT(counter.to_host<int32_t>(), ElementsAre(17));
  library["plain"](out, std::vector<int>{1, 2, 3, 4}, std::vector<int>{5, 6, 7}, std::vector<int>{8, 9, 10});
  EXPECT_EQ(out.to_host<float>(),
            each(kArgumentCount, [](int i) { return static_cast<float>(i % 4 + 1 + 700 + 9000); }));
}

TEST_P(MetalArgumentTest, ArgumentBuffersHoldBuffers) {
  const ShaderLibrary library = metal(R"(
struct Three { device const float* a [[id(0)]]; device const float* b [[id(1)]]; device float* out [[id(2)]]; };
kernel void named(constant Three& all, uint i [[thread_position_in_grid]]) { all.out[i] = all.a[i] * 10 + all.b[i]; }
struct Parts { array<device float*, 5> parts; };
float sum_of(constant Parts& all, uint i) { float sum = 0; for (uint k = 0; k < 5; ++k) sum += all.parts[k][i] * (k + 1); return sum; }
kernel void gathered(device float* out, constant Parts& all, uint i [[thread_position_in_grid]]) {
  out[i] = sum_of(all, i);
  all.parts[i % 5][i] = -1;
}
)");
  const Tensor a = full({kArgumentCount}, 3), b = arange(0, kArgumentCount), out = zeros({kArgumentCount});
  library["named"].threads(kArgumentCount)(std::vector<Tensor>{a, b, out});
  EXPECT_EQ(out.to_host<float>(), each(kArgumentCount, [](int i) { return 30 + static_cast<float>(i); }));
  std::vector<Tensor> parts;
  for (int k = 0; k < 5; ++k) parts.push_back(full({kArgumentCount}, k));
  library["gathered"](out, parts);
  EXPECT_THAT(out.to_host<float>(), Each(0.0f + 2 + 6 + 12 + 20));
  EXPECT_EQ(parts[2].to_host<float>(), each(kArgumentCount, [](int i) { return i % 5 == 2 ? -1.0f : 2.0f; }));
}

TEST_P(MetalArgumentTest, TablesInTheSource) {
  const ShaderLibrary library = metal(R"(
constant float kPlain[5] = {1.5f, 2.5f, 3.5f};
constant int kGrid[3][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}};
constant constexpr uchar kBytes[] = {200, 100, 50, 25, 12};
constant half4 kColors[2] = {half4(1, 2, 3, 4), half4(0.5h)};
struct Entry { int key; float value; char letters[3]; };
constant Entry kEntries[] = {{3, 0.5f, {'a', 'b', 'c'}}, {4, 1.5f, {'x'}}, {5, 2.5f, {}}};
constant char kText[] = "kernel";
constant ulong kBig = 0x123456789abcdef0ul;
int look_up(constant int* row, int k) { return row[k]; }
float find(int key) { for (int k = 0; k < 3; ++k) if (kEntries[k].key == key) return kEntries[k].value; return -1; }
kernel void tables(device float* out, uint i [[thread_position_in_grid]]) {
  constant int* row = kGrid[i % 3];
  out[i] = kPlain[i % 5] + kGrid[i % 3][i % 4] * 10 + look_up(row, 1) * 100 + kBytes[i % 5] * 2 + float(kColors[i % 2][i % 4]) + find(int(i)) * 7 + kEntries[i % 3].letters[i % 3]
         + kText[i % 7] + float(kBig >> 60) + int(sizeof(kText)) * 10000 + int(sizeof(kBytes) / sizeof(kBytes[0]));
}
)");
  EXPECT_EQ(run<float>(library["tables"], kArgumentCount), each(kArgumentCount, [](int i) {
              const float plain[] = {1.5f, 2.5f, 3.5f, 0, 0}, color[2][4] = {{1, 2, 3, 4}, {0.5f, 0.5f, 0.5f, 0.5f}};
              const int bytes[] = {200, 100, 50, 25, 12};
              const char letters[3][3] = {{'a', 'b', 'c'}, {'x'}, {}}, text[] = "kernel";
              const float found = i >= 3 && i <= 5 ? 0.5f + static_cast<float>(i - 3) : -1;
              return plain[i % 5] +
                     static_cast<float>((i % 3 * 4 + i % 4 + 1) * 10 + (i % 3 * 4 + 2) * 100 + bytes[i % 5] * 2) +
                     color[i % 2][i % 4] + found * 7 + static_cast<float>(letters[i % 3][i % 3] + text[i % 7]) + 1 +
                     70000 + 5;
            }));
}

TEST_P(MetalArgumentTest, FunctionConstants) {
  const char* source = R"(
constant int step [[function_constant(0)]];
constant float scale [[function_constant(1)]];
constant bool negate [[function_constant(2)]];
constant uint size [[function_constant(3)]];
constant int twice = step * 2;
constant bool has_scale = is_function_constant_defined(scale);
constant float used_scale = has_scale ? scale : 1.5f;
kernel void f(device float* out, uint i [[thread_position_in_grid]]) {
  float v = float(step * int(i) + twice);
  if (is_function_constant_defined(size)) v += float(size);
  out[i] = (negate ? -v : v) * used_scale;
})";
  const auto with = [&](const std::map<std::string, double>& constants) {
    CompileOptions options;
    options.constants = constants;
    return run<float>(metal(source, options)["f"], 3);
  };
  EXPECT_THAT(with({{"step", 3}, {"negate", 0}}), ElementsAre(9, 13.5, 18));
  EXPECT_THAT(with({{"0", 3}, {"1", 2}, {"2", 1}}), ElementsAre(-12, -18, -24));
  EXPECT_THAT(with({{"step", -1}, {"scale", 0.5}, {"negate", 0}, {"3", 100}}), ElementsAre(49, 48.5, 48));
  EXPECT_THAT(with({{"step", 1}, {"scale", INFINITY}, {"negate", 1}}), ElementsAre(-INFINITY, -INFINITY, -INFINITY));
  for (const float got : with({{"step", 1}, {"scale", NAN}, {"negate", 0}})) EXPECT_TRUE(std::isnan(got));
  CompileOptions options;
  options.constants = {{"step", 1.5}, {"negate", 0}};
  try {
    metal(source, options);
    ADD_FAILURE() << "1.5 is no int";
  } catch (const std::exception& error) {
    EXPECT_THAT(error.what(), HasSubstr("step"));
  }
  options.constants = {{"step", 1}, {"negate", 0}, {"stride", 2}};
  try {
    metal(source, options);
    ADD_FAILURE() << "there is no constant stride";
  } catch (const CompileError& error) {
    EXPECT_THAT(error.what(), HasSubstr("no function constant \"stride\""));
    EXPECT_THAT(error.what(), HasSubstr("step (0), scale (1), negate (2), size (3)"));
  }
}

TEST_P(MetalArgumentTest, AStridedViewIsItsMemoryFromTheFirstElementOn) {
  const ShaderLibrary library = metal(R"(
kernel void number(device float* out, constant int& stride, uint i [[thread_position_in_grid]]) { out[int(i) * stride] = i + 1; }
)");
  const Tensor all = zeros({3, 4}, DType::F32);
  const Tensor column = all.slice(1, 2, 3);
  library["number"](column, column.strides()[0]);
  EXPECT_THAT(all.to_host<float>(), ElementsAre(0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0));
  Tensor copy = column.contiguous();
  library["number"](copy, 1);
  EXPECT_THAT(copy.to_host<float>(), ElementsAre(1, 2, 3));
}

TEST_P(MetalArgumentTest, PositionsOfEveryType) {
  const ShaderLibrary library = metal(R"(
kernel void narrow(device int* out, ushort i [[thread_position_in_grid]], ushort n [[threads_per_grid]]) { out[i] = i * 2 + n; }
kernel void flat(device int* out, uint2 at [[thread_position_in_grid]], uint2 size [[threads_per_grid]], ushort2 in [[thread_position_in_threadgroup]]) { out[at.y * size.x + at.x] = int(at.x * 100 + at.y * 10 + in.x); }
kernel void wide(device int* out, ushort3 at [[thread_position_in_grid]], uint width [[threads_per_simdgroup]]) { out[at.x] = at.x + at.y + at.z + int(width); }
)");
  EXPECT_EQ(run<int32_t>(library["narrow"], kArgumentCount),
            each(kArgumentCount, [](int i) { return i * 2 + kArgumentCount; }));
  const Tensor out = zeros({kArgumentCount}, DType::I32);
  library["flat"].threads(4, 3).group(2, 3)(out);
  EXPECT_EQ(out.to_host<int32_t>(), each(kArgumentCount, [](int i) { return i % 4 * 100 + i / 4 * 10 + i % 2; }));
  EXPECT_EQ(run<int32_t>(library["wide"], kArgumentCount), each(kArgumentCount, [](int i) { return i + 32; }));
}

}  // namespace
}  // namespace kymo::device::tests
