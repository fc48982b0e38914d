// Metal sources on every device: compilation, errors, caching, and the attributes of their kernels.
#include <filesystem>

#include "device/test_device.h"

namespace kymo::device::tests {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class MetalLibraryTest : public OnEveryDevice {};
KYMO_ON_EVERY_DEVICE(MetalLibraryTest);

constexpr const char* kFull =
    "kernel void full(device float* out, constant float& val, uint idx [[thread_position_in_grid]]) { out[idx] = val; "
    "}";

TEST_P(MetalLibraryTest, ExampleRunsUnchanged) {
  const Tensor x = zeros({16});
  compile_shader(kFull)["full"](x, 3.14);
  EXPECT_THAT(x.to_host<float>(), Each(3.14f));
}

TEST_P(MetalLibraryTest, TextOfUnknownLanguageIsMetal) {
  const ShaderLibrary library = compile_shader("kernel void foo() {}");
  EXPECT_THAT(library.kernel_names(), ElementsAre("foo"));
  library["foo"].threads(3)();
  synchronize();
}

TEST_P(MetalLibraryTest, EveryDeviceListsMetalFirst) {
  for (const BackendReport& backend : list_devices())
    for (const auto& device : backend.devices) {
      if (device.name != GetParam()) continue;
      ASSERT_FALSE(device.languages.empty());
      EXPECT_EQ(device.languages.front(), "Metal");
    }
}

TEST_P(MetalLibraryTest, CompileErrorHasItsPositionAndShowsTheLine) {
  try {
    compile_shader(
        "kernel void f(device float* out,\n              uint i [[thread_position_in_grid]]) {\n"
        "  out[i] = nonsense + 1;\n}\n",
        {{}, "broken.metal"});
    FAIL();
  } catch (const CompileError& error) {
    EXPECT_EQ(error.file(), "broken.metal");
    EXPECT_EQ(error.line(), 3u);
    EXPECT_EQ(error.column(), 12u);
    EXPECT_THAT(error.text(), HasSubstr("nonsense"));
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("broken.metal:3:12: error: "), HasSubstr("  out[i] = nonsense + 1;"), HasSubstr("^")));
  }
}

TEST_P(MetalLibraryTest, AnErrorInAHeaderNamesTheHeader) {
  CompileOptions options;
  options.headers["scale.h"] = "\n\ninline float scale(float x) { return x * missing; }\n";
  try {
    compile_shader("#include \"scale.h\"\nkernel void f(device float* x) { x[0] = scale(x[0]); }", options);
    FAIL();
  } catch (const CompileError& error) {
    EXPECT_EQ(error.file(), "scale.h");
    EXPECT_EQ(error.line(), 3u);
    EXPECT_THAT(error.text(), HasSubstr("missing"));
  }
}

TEST_P(MetalLibraryTest, MessageContainsSeveralErrors) {
  try {
    compile_shader(
        "kernel void f(device float* x) { x[0] = first_one; }\nkernel void g(device int* y) { y[0] = second_one; }");
    FAIL();
  } catch (const CompileError& error) {
    EXPECT_THAT(error.text(), HasSubstr("first_one"));
    EXPECT_THAT(error.what(), AllOf(HasSubstr("first_one"), HasSubstr("second_one")));
  }
}

TEST_P(MetalLibraryTest, ASourceMayHaveNoKernels) {
  EXPECT_THAT(compile_shader("#include <metal_stdlib>\ninline float twice(float x) { return 2 * x; }").kernel_names(),
              IsEmpty());
}

TEST_P(MetalLibraryTest, KernelsReportTheirNamesAndLimits) {
  const ShaderLibrary library = compile_shader(R"(
    #include <metal_stdlib>
    using namespace metal;
    template <typename T> kernel void fill(device T* out, uint i [[thread_position_in_grid]]) { out[i] = T(7); }
    template [[host_name("fill_float")]] kernel void fill<float>(device float*, uint);
    template [[host_name("fill_int")]] kernel void fill<int>(device int*, uint);
    [[max_total_threads_per_threadgroup(64)]]
    kernel void grouped(device float* out, uint i [[thread_position_in_threadgroup]]) {
      threadgroup float part[48];
      if (i < 48) part[i] = 1;
      threadgroup_barrier(mem_flags::mem_threadgroup);
      out[i] = part[i % 48];
    })");
  EXPECT_THAT(library.kernel_names(), ElementsAre("fill_float", "fill_int", "grouped"));
  EXPECT_EQ(library["grouped"].thread_execution_width(), 32u);
  EXPECT_EQ(library["grouped"].static_thread_group_memory_length(), 192u);
  EXPECT_EQ(library["grouped"].max_threads_per_threadgroup(), 64u);
  EXPECT_EQ(library["fill_int"].static_thread_group_memory_length(), 0u);
  EXPECT_LE(library["fill_int"].max_threads_per_threadgroup(), 1024u);
  EXPECT_GE(library["fill_int"].max_threads_per_threadgroup(), 64u);
  const Tensor floats = zeros({5}), ints = zeros({5}, DType::I32);
  library["fill_float"](floats);
  library["fill_int"](ints);
  EXPECT_THAT(floats.to_host<float>(), Each(7.0f));
  EXPECT_THAT(ints.to_host<int32_t>(), Each(7));
  EXPECT_THAT(refusal([&] { library["grouped"].threads(65).group(65)(floats); }),
              HasSubstr("its max is 64 threads on "));
}

TEST_P(MetalLibraryTest, MacrosAreDefinedByOptions) {
  const char* source = R"(
    #ifndef OFFSET
    #define OFFSET 0
    #endif
    kernel void f(device float* x, uint i [[thread_position_in_grid]]) { x[i] = FACTOR * i + OFFSET; })";
  const Tensor x = zeros({3});
  compile_shader(source, {{"-DFACTOR=3", "-D", "OFFSET=1"}})["f"](x);
  EXPECT_THAT(x.to_host<float>(), ElementsAre(1, 4, 7));
  compile_shader(source, {{"-D FACTOR=2"}})["f"](x);
  EXPECT_THAT(x.to_host<float>(), ElementsAre(0, 2, 4));
  EXPECT_THROW(compile_shader(source), CompileError);
  EXPECT_THAT(refusal([&] { compile_shader(source, {{"-ffast-math"}}); }), HasSubstr("-ffast-math"));
  EXPECT_THAT(refusal([&] { compile_shader(source, {{"-D"}}); }), HasSubstr("has no name"));
}

TEST_P(MetalLibraryTest, HeadersComeFromTheCallerOrAreBuiltIn) {
  CompileOptions options;
  options.headers["math/scale.h"] = "#pragma once\ninline float scale(float x) { return 10 * x; }\n";
  const Tensor x = arange(0, 3);
  compile_shader(R"(
    #include <metal_stdlib>
    #include "math/scale.h"
    #include "math/scale.h"
    kernel void f(device float* x, uint i [[thread_position_in_grid]]) { x[i] = metal::floor(scale(x[i]) + 0.5f); })",
                 options)["f"](x);
  EXPECT_THAT(x.to_host<float>(), ElementsAre(0, 10, 20));
  EXPECT_THROW(compile_shader("#include \"math/scale.h\"\nkernel void f() {}"), CompileError);
}

TEST_P(MetalLibraryTest, FunctionConstantsAreSetByNameOrIndex) {
  const char* source = R"(
    #include <metal_stdlib>
    using namespace metal;
    constant int step [[function_constant(0)]];
    constant bool negate [[function_constant(1)]];
    kernel void f(device int* x, uint i [[thread_position_in_grid]]) { x[i] = (negate ? -1 : 1) * step * int(i); })";
  const Tensor x = zeros({3}, DType::I32);
  CompileOptions options;
  options.constants = {{"step", 2}, {"negate", 1}};
  compile_shader(source, options)["f"](x);
  EXPECT_THAT(x.to_host<int32_t>(), ElementsAre(0, -2, -4));
  options.constants = {{"0", 3}, {"1", 0}};
  compile_shader(source, options)["f"](x);
  EXPECT_THAT(x.to_host<int32_t>(), ElementsAre(0, 3, 6));
}

TEST_P(MetalLibraryTest, MetalOptionsAreRefusedForOtherLanguages) {
  CompileOptions options;
  options.constants["step"] = 1;
  EXPECT_THAT(refusal([&] { compile_shader(text(kScale), options); }), HasSubstr("function constants are for Metal"));
  options.constants.clear();
  options.headers["a.h"] = "";
  EXPECT_THAT(refusal([&] { compile_shader(text(kScale), options); }), HasSubstr("headers are for Metal"));
}

// A separate folder of compiled code for a test.
class CodeFolder {
 public:
  CodeFolder() {
    char name[] = "/tmp/kymo-metal-XXXXXX";
    path_ = mkdtemp(name);
    if (const char* before = getenv("KYMO_CACHE_DIR")) before_ = before;
    setenv("KYMO_CACHE_DIR", path_.c_str(), 1);
  }
  ~CodeFolder() {
    if (before_)
      setenv("KYMO_CACHE_DIR", before_->c_str(), 1);
    else
      unsetenv("KYMO_CACHE_DIR");
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  size_t files() const {
    std::error_code ignored;
    size_t count = 0;
    for (const auto& file : std::filesystem::directory_iterator(path_ + "/code", ignored))
      count += file.is_regular_file();
    return count;
  }

 private:
  std::string path_;
  std::optional<std::string> before_;
};

TEST_P(MetalLibraryTest, CompiledCodeIsFoundOnDiskWithItsReflection) {
  const CodeFolder folder;
  const std::string source = R"(
    #include <metal_stdlib>
    using namespace metal;
    kernel void weigh(device float* out [[buffer(1)]], constant float3& weights [[buffer(0)]],
                      threadgroup float* part [[threadgroup(0)]], uint i [[thread_position_in_grid]],
                      uint lane [[thread_position_in_threadgroup]], uint size [[threads_per_grid]]) {
      part[lane] = weights.x + 10 * weights.y + 100 * weights.z;
      threadgroup_barrier(mem_flags::mem_threadgroup);
      out[i] = part[lane] + simd_sum(1.0f) * 1000 + size * 100000;
    })";
  const auto run = [&] {
    const Tensor out = zeros({8});
    compile_shader(source)["weigh"](std::vector<int>{1, 2, 3}, out, 64);
    EXPECT_THAT(out.to_host<float>(), Each(321.0f + 8000 + 800000));
  };
  run();
  const size_t files = folder.files();
  EXPECT_EQ(files, 1u);
  empty_cache();
  run();
  EXPECT_EQ(folder.files(), files);
}

// Forty kernels; kernel `add_i` adds i.
std::string many_kernels() {
  std::string source =
      "template <int N> kernel void add(device int* x, uint i [[thread_position_in_grid]]) { x[i] += N; }\n";
  for (int i = 0; i < 40; ++i) {
    const std::string n = std::to_string(i);
    source += "template [[host_name(\"add_" + n + "\")]] kernel void add<" + n + ">(device int*, uint);\n";
  }
  return source;
}

TEST_P(MetalLibraryTest, ManyKernelsAreCompiledOneByOneWhenTheyAreUsed) {
  const CodeFolder folder;
  const auto run = [&] {
    const ShaderLibrary library = compile_shader(many_kernels());
    EXPECT_EQ(library.kernel_names().size(), 40u);
    const Tensor x = zeros({8}, DType::I32);
    library["add_7"](x);
    library["add_30"](x);
    library["add_7"](x);
    EXPECT_THAT(x.to_host<int32_t>(), Each(44));
    EXPECT_THROW(library["add_40"], Error);
  };
  run();
  EXPECT_EQ(folder.files(), 3u);  // the list, and two kernels
  empty_cache();
  run();
  EXPECT_EQ(folder.files(), 3u);
}

TEST_P(MetalLibraryTest, ErrorsInOneOfManyKernelsAreFoundWhenTheSourceIsCompiled) {
  EXPECT_THROW(compile_shader(many_kernels() + "kernel void broken(device int* x) { x[0] = missing; }"), CompileError);
}

TEST_P(MetalLibraryTest, AKernelOfManyOutlivesItsLibraryObject) {
  const Tensor x = zeros({4}, DType::I32);
  const Kernel kernel = compile_shader(many_kernels())["add_5"];
  empty_cache();
  kernel(x);
  EXPECT_THAT(x.to_host<int32_t>(), Each(5));
}

TEST_P(MetalLibraryTest, ConstantsAndHeadersArePartOfTheCacheKey) {
  const CodeFolder folder;
  const char* source =
      "#include \"n.h\"\nconstant int k [[function_constant(0)]];\nkernel void f(device int* x) { x[0] = N * k; }";
  const Tensor x = zeros({1}, DType::I32);
  const auto result = [&](const char* n, double k) {
    CompileOptions options;
    options.headers["n.h"] = std::string("#define N ") + n;
    options.constants["k"] = k;
    compile_shader(source, options)["f"](x);
    return x.to_host<int32_t>()[0];
  };
  EXPECT_EQ(result("2", 3), 6);
  EXPECT_EQ(result("2", 4), 8);
  EXPECT_EQ(result("5", 4), 20);
  EXPECT_EQ(result("2", 3), 6);
  EXPECT_EQ(folder.files(), 3u);
}

TEST_P(MetalLibraryTest, WarningsOfTheTranslatorAreKept) {
  const ShaderLibrary clean = compile_shader("kernel void f(device int* x) { x[0] = 1; }");
  EXPECT_EQ(clean.warnings(), "");
  const std::string source = R"(
using namespace metal;
kernel void f(device int* x, uint i [[thread_position_in_grid]]) {
  if (i < 5) threadgroup_barrier(mem_flags::mem_device);
  x[i] = 1;
}
[[no_such_attribute]] kernel void g(device int* x) { x[0] = 1; }
)";
  CompileOptions options;
  options.file = "odd.metal";
  for (int round = 0; round < 2; ++round) {  // translated, and from the cache
    const ShaderLibrary library = compile_shader(source, options);
    EXPECT_THAT(library.warnings(), testing::HasSubstr("odd.metal:4:14: warning: some threads of the group may not"));
    EXPECT_THAT(library.warnings(), testing::HasSubstr("warning: the attribute [[no_such_attribute]] is ignored"));
  }
}

}  // namespace
}  // namespace kymo::device::tests
