// The errors if the driver or the compiler is missing, is another file, or does not start. If NVRTC is installed, also
// that Kymo understands its output. These tests need no device.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>

#include "device/backend.h"
#include "device/cuda/nvrtc.h"
#include "device/cuda/reflection.h"
#include "kymo/error.h"

namespace kymo::device::cuda {
namespace {

class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

std::string not_available(const std::function<void()>& action) {
  try {
    action();
  } catch (const NotAvailable& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << "one line";
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

void expect_in(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text << "\nlacks: " << part;
}

TEST(CudaLoadTest, AMissingDriverNamesThePackage) {
  const Variable variable("KYMO_CUDA_LIBRARY", "/nonexistent/libcuda.so.1");
  const std::string message = not_available([] { load_cuda(); });
  expect_in(message, "/nonexistent/libcuda.so.1");
  expect_in(message, "nvidia-driver");
}

TEST(CudaLoadTest, FileThatIsNotALibraryIsNamed) {
  const Variable variable("KYMO_CUDA_LIBRARY", "/etc/passwd");
  expect_in(not_available([] { load_cuda(); }), "/etc/passwd");
}

TEST(CudaLoadTest, LibraryWithoutTheSymbolsNamesTheFirstMissingOne) {
  const Variable variable("KYMO_CUDA_LIBRARY", "libm.so.6");
  const std::string message = not_available([] { load_cuda(); });
  expect_in(message, "libm.so.6");
  expect_in(message, "cuInit");
}

TEST(CudaLoadTest, DriverThatDoesNotStartReportsTheReason) {
  constexpr const char* kStub = "/usr/local/cuda/lib64/stubs/libcuda.so";
  if (access(kStub, R_OK) != 0) GTEST_SKIP() << "no stub of a driver here";
  const Variable variable("KYMO_CUDA_LIBRARY", kStub);
  const std::string message = not_available([] { load_cuda(); });
  expect_in(message, "(34)");
  expect_in(message, "stub");
}

TEST(CudaLoadTest, AMissingCompilerNamesThePackageAndTheVariable) {
  for (const char* library : {"/nonexistent/libnvrtc.so", "/etc/passwd", "libm.so.6"}) {
    const Variable variable("KYMO_NVRTC_LIBRARY", library);
    const std::string message = not_available([] { Nvrtc::load(0); });
    expect_in(message, library);
    expect_in(message, "cuda-nvrtc");
    expect_in(message, "KYMO_NVRTC_LIBRARY");
  }
}

class NvrtcTest : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      nvrtc_ = &Nvrtc::load(0);
    } catch (const NotAvailable& error) {
      GTEST_SKIP() << error.what();
    }
  }
  std::vector<KernelInfo> kernels_of(const std::string& source) {
    return reflect(prepare_ptx(nvrtc_->compile(source, "test.cu", 90, {})), source);
  }
  const Nvrtc* nvrtc_ = nullptr;
};

TEST_F(NvrtcTest, KernelsCompiledByNvrtcAreReflected) {
  const auto kernels = kernels_of(
      "struct Pair { int a; double b; };\n"
      "extern \"C\" __global__ void first(const float* x, float a, unsigned n, unsigned long k, float4 v, Pair p) {\n"
      "  extern __shared__ float shared[]; shared[n] = a; ((float*)x)[0] = shared[k] + v.x + p.a; }\n"
      "template <class T> __global__ void second(T* data, T by) { data[threadIdx.x] *= by; }\n"
      "template __global__ void second<short>(short*, short);\n");
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].name, "first");
  ASSERT_EQ(kernels[0].parameters.size(), 7u);
  EXPECT_EQ(kernels[0].parameters[0].type, DType::F32);
  EXPECT_EQ(kernels[0].parameters[2].type, DType::U32);
  EXPECT_EQ(kernels[0].parameters[3].kind, ParameterKind::Value);
  EXPECT_EQ(kernels[0].parameters[4].count, 4u);
  EXPECT_EQ(kernels[0].parameters[5].kind, ParameterKind::Unknown);
  EXPECT_EQ(kernels[0].parameters[5].bytes, 16u);
  EXPECT_EQ(kernels[0].parameters[6].kind, ParameterKind::Local);
  EXPECT_EQ(kernels[1].name, "second<short>");
  EXPECT_EQ(kernels[1].parameters[1].type, DType::I16);
}

TEST_F(NvrtcTest, MultiplyAddIsNotContractedUnlessRequested) {
  const std::string source = "extern \"C\" __global__ void f(float* x, float a, float b) { x[0] = x[0] * a + b; }";
  EXPECT_EQ(nvrtc_->compile(source, "a", 90, {}).find("fma"), std::string::npos);
  const std::vector<std::string> options{"--fmad=true"};
  EXPECT_NE(nvrtc_->compile(source, "a", 90, options).find("fma"), std::string::npos);
}

TEST_F(NvrtcTest, DeviceNewerThanTheCompilerGetsTheNewestSupportedArchitecture) {
  EXPECT_FALSE(nvrtc_->compile("extern \"C\" __global__ void f() {}", "a", 999, {}).empty());
}

TEST_F(NvrtcTest, ErrorsHaveTheirPosition) {
  try {
    nvrtc_->compile("extern \"C\" __global__ void f(int* x) {\n  x[0] = y;\n}\n", "shader.cu", 90, {});
    FAIL() << "it compiled";
  } catch (const CompileError& error) {
    EXPECT_EQ(error.file(), "shader.cu");
    EXPECT_EQ(error.line(), 2u);
    EXPECT_EQ(error.column(), 10u);
  }
  const std::vector<std::string> options{"-no-such-option"};
  EXPECT_THROW(nvrtc_->compile("", "a", 90, options), CompileError);
}

}  // namespace
}  // namespace kymo::device::cuda
