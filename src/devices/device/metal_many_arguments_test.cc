// Kernels with many arguments. On Vulkan, they do not fit into push constants.
#include <deque>
#include <span>

#include "base/test_size.h"
#include "device/test_metal.h"
#include "kymo/translate.h"

namespace kymo::device::tests {
namespace {

struct alignas(16) Part {
  int32_t four[4] = {};
  int16_t small = 0;
  int32_t wide[3] = {};
};

// A kernel of `count` arguments: its output, then in turn buffers, numbers and structures.
std::string source_of(int count) {
  std::string parameters = "device int* out", sum = "int(size)";
  for (int k = 1; k < count; ++k) {
    const std::string n = std::to_string(k), times = " + " + std::to_string(k % 7 + 1) + " * ";
    if (k % 3 == 1) {
      parameters += ", device const int* b" + n;
      sum += times + "b" + n + "[i]";
    } else if (k % 3 == 2) {
      parameters += ", constant " + std::string(k % 2 == 0 ? "int" : "char") + "& v" + n;
      sum += times + "v" + n;
    } else {
      parameters += ", constant Part& p" + n;
      const std::string last = k % 5 == 0 ? "last_of(p" + n + ")" : "p" + n + ".wide[2]";
      sum += times + "(p" + n + ".four[i % 4] + p" + n + ".small + " + last + ")";
    }
  }
  return "struct alignas(16) Part { int4 four; short small; int wide[3]; };\n"
         "int last_of(constant Part& part) { return part.wide[2]; }\n"
         "kernel void many(" +
         parameters + ", uint i [[thread_position_in_grid]], uint size [[threads_per_grid]]) { out[i] = " + sum + "; }";
}

class MetalManyArgumentsTest : public MetalTest {
 protected:
  static constexpr int kThreads = 7;

  // The arguments of one launch, with values that only this launch has.
  struct Given {
    Given(const Given&) = delete;
    Given& operator=(const Given&) = delete;
    Given(int count, int launch, const Tensor& input) : out(zeros({kThreads}, DType::I32)), parts(count) {
      list.emplace_back(out);
      expected = each(kThreads, [](int) { return kThreads; });
      for (int k = 1; k < count; ++k) {
        const int value = (launch * 5 + k) % 100;
        if (k % 3 == 1) {
          list.emplace_back(input);
          add(k, [](int i) { return i * 10; });
        } else if (k % 3 == 2) {
          list.emplace_back(value);
          add(k, [&](int) { return value; });
        } else {
          Part& part = parts[static_cast<size_t>(k)];
          part = {{value, value + 1, value + 2, value + 3}, static_cast<int16_t>(-k), {0, 0, launch}};
          list.emplace_back(std::as_bytes(std::span(&part, 1)));
          add(k, [&](int i) { return value + i % 4 - k + launch; });
        }
      }
    }

    template <class Term>
    void add(int k, Term&& term) {
      for (int i = 0; i < kThreads; ++i) expected[static_cast<size_t>(i)] += (k % 7 + 1) * term(i);
    }

    Tensor out;
    std::vector<Part> parts;
    std::vector<KernelArgument> list;
    std::vector<int> expected;
  };

  static void expect_launches(int count, int launches) {
    const Tensor input = from_host(each(kThreads, [](int i) { return i * 10; }));
    const ShaderLibrary library = metal(source_of(count));
    const Kernel kernel = library["many"].threads(kThreads).group(4);
    std::vector<std::pair<Tensor, std::vector<int>>> results;
    for (int launch = 0; launch < launches; ++launch) {
      const Given given(count, launch, input);
      kernel.launch(given.list);
      results.emplace_back(given.out, given.expected);
    }
    for (const auto& [out, expected] : results) ASSERT_EQ(out.to_host<int>(), expected) << count << " arguments";
  }
};
KYMO_ON_EVERY_DEVICE(MetalManyArgumentsTest);

TEST_P(MetalManyArgumentsTest, EachLaunchHasItsOwnValues) {
  expect_launches(17, 100);
  expect_launches(40, 100);
}

// All launches together have more arguments than a stream of Vulkan has memory for.
TEST_P(MetalManyArgumentsTest, LaunchesInFlightDoNotShareMemory) { expect_launches(200, base::test_size(1500)); }

TEST_P(MetalManyArgumentsTest, ALibraryHasTheKernel) {
  shader::KernelLibrary file;
  for (const shader::Target target : {shader::Target::OpenCl, shader::Target::Cuda, shader::Target::Glsl}) {
    const shader::Translation translation =
        shader::translate("#include <metal_stdlib>\nusing namespace metal;\n" + source_of(40), {.target = target});
    ASSERT_TRUE(translation.ok()) << translation.log;
    file.parts.push_back({target, translation.text, translation.kernels});
  }
  const std::string bytes = shader::encode_library(file);
  const Tensor input = from_host(each(kThreads, [](int i) { return i * 10; }));
  const Given given(40, 1, input);
  load_metallib(std::as_bytes(std::span(bytes)))["many"].threads(kThreads).launch(given.list);
  EXPECT_EQ(given.out.to_host<int>(), given.expected);
}

TEST_P(MetalManyArgumentsTest, ValuesMayComeFromTensors) {
  constexpr int kCount = 40;
  const ShaderLibrary library = metal(source_of(kCount));
  const Tensor input = from_host(each(kThreads, [](int i) { return i * 10; }));
  Given given(kCount, 3, input);
  const Tensor value = from_host(std::vector<int32_t>{(3 * 5 + 8) % 100});
  given.list[8] = KernelArgument(value);
  library["many"].threads(kThreads).launch(given.list);
  EXPECT_EQ(given.out.to_host<int>(), given.expected);
}

TEST_P(MetalManyArgumentsTest, GroupMemoryLargeValuesAndPartialGroups) {
  const ShaderLibrary library = metal(R"(
struct Table { float values[70]; };
float at(constant Table& table, uint k) { return table.values[k]; }
kernel void big(device float* out, constant Table& first, threadgroup float* tile, constant long4& add, constant Table& second,
                uint i [[thread_position_in_grid]], uint in [[thread_position_in_threadgroup]], uint n [[threads_per_threadgroup]]) {
  tile[in] = first.values[i % 70] + float(add.w);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[i] = tile[n - 1 - in] + at(second, in);
}
)");
  static constexpr int kCount = 1000, kGroup = 64;
  const std::vector<float> first = each(70, [](int i) { return static_cast<float>(i); });
  const std::vector<float> second = each(70, [](int i) { return static_cast<float>(i * 1000); });
  const Tensor out = zeros({kCount});
  library["big"].threads(kCount).group(kGroup)(out, first, kGroup * 4, std::vector<int64_t>{0, 0, 0, 7}, second);
  EXPECT_EQ(out.to_host<float>(), each(kCount, [](int i) {
              const int in = i % kGroup, start = i - in, size = std::min(kGroup, kCount - start);
              return static_cast<float>((start + size - 1 - in) % 70 + 7 + in * 1000);
            }));
}

TEST_P(MetalManyArgumentsTest, TwoStreamsAtOnce) {
  const ShaderLibrary library = metal(source_of(40));
  const Tensor input = from_host(each(kThreads, [](int i) { return i * 10; }));
  const Kernel kernel = library["many"].threads(kThreads);
  synchronize();
  std::deque<Given> given;
  for (int launch = 0; launch < 40; ++launch) given.emplace_back(40, launch, input);
  synchronize();
  const Stream streams[] = {Stream(), Stream()};
  for (size_t launch = 0; launch < given.size(); ++launch) {
    const StreamGuard guard(streams[launch % 2]);
    kernel.launch(given[launch].list);
  }
  synchronize();
  for (const Given& each : given) EXPECT_EQ(each.out.to_host<int>(), each.expected);
}

}  // namespace
}  // namespace kymo::device::tests
