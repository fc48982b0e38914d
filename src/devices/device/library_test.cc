// Sources and their compiled code, on every device: errors, caching, sharing, lifetime.
#include <thread>

#include "device/test_device.h"

namespace kymo::device::tests {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

class LibraryTest : public OnEveryDevice {};
KYMO_ON_EVERY_DEVICE(LibraryTest);

TEST_P(LibraryTest, LibraryCanBeDestroyedWhileItsKernelsAreQueued) {
  const Tensor x = full({1 << 16}, 1);
  for (int i = 0; i < 40; ++i) {
    const std::string source = text(kScale) + "\n// " + std::to_string(i) + "\n";
    compile_shader(source)["scale"](x, i % 2 == 0 ? 2.0 : 0.5);
  }
  empty_cache();
  EXPECT_THAT(x.to_host<float>(), Each(1.0f));
}

TEST_P(LibraryTest, ResetDeviceWorksAgainAndOldObjectsThrow) {
  const Tensor before = full({4}, 1);
  const ShaderLibrary library = compile(kScale);
  const Kernel kernel = library["scale"];
  Event event;
  event.record();
  HostBuffer host(64);
  synchronize();
  reset(Device::current());
  EXPECT_THROW(before.to_host<float>(), Error);
  EXPECT_THROW(event.query(), Error);
  EXPECT_THROW(host.bytes(), Error);
  const Tensor after = full({4}, 3);
  EXPECT_THROW(kernel(after, 2), Error);
  compile(kScale)["scale"](after, 2);
  EXPECT_THAT(after.to_host<float>(), Each(6.0f));
}

TEST_P(LibraryTest, UnknownKernelIsAnErrorThatListsTheKernels) {
  try {
    compile(kScale)["nonsense"];
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("\"nonsense\""), HasSubstr("it has: scale")));
  }
}

TEST_P(LibraryTest, CompileErrorHasItsPosition) {
  constexpr Texts kBroken{
      "__kernel void f(__global float* x) {\n  x[0] = nonsense;\n}",
      "extern \"C\" __global__ void f(float* x) {\n  x[0] = nonsense;\n}",
      "#version 450\nlayout(binding = 0) buffer X { float x[]; };\nvoid main() { x[0] = nonsense; }"};
  try {
    compile_shader(text(kBroken), {{}, "broken.source"});
    FAIL();
  } catch (const CompileError& error) {
    EXPECT_THAT(error.what(), HasSubstr("nonsense"));
    EXPECT_THAT(error.text(), HasSubstr("nonsense"));
    EXPECT_EQ(error.line(), is("vulkan") ? 3u : 2u);
    EXPECT_THAT(error.file(), HasSubstr("broken.source"));
  }
  EXPECT_THAT(compile_shader("").kernel_names(), ::testing::IsEmpty());
}

TEST_P(LibraryTest, LanguageOfAnotherBackendIsRefusedWithItsName) {
  const char* other = is("cuda") ? kScale.opencl : kScale.cuda;
  EXPECT_THAT(refusal([&] { compile_shader(other); }), HasSubstr(is("cuda") ? "OpenCL C" : "CUDA C++"));
}

TEST_P(LibraryTest, SameSourceIsCompiledOnce) {
  const ShaderLibrary first = compile(kScale);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const Tensor x = full({100}, 1);
      for (int repeat = 0; repeat < 20; ++repeat) compile(kScale)["scale"](x, 2);
      EXPECT_THAT(x.to_host<float>(), Each(1048576.0f));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_P(LibraryTest, AKernelOutlivesItsLibraryObject) {
  const Tensor x = full({4}, 2);
  const Kernel kernel = [&] { return compile(kScale)["scale"]; }();
  kernel(x, 4);
  EXPECT_THAT(x.to_host<float>(), Each(8.0f));
}

}  // namespace
}  // namespace kymo::device::tests
