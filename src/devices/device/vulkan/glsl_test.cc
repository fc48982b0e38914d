#include "device/vulkan/glsl.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>

namespace kymo::device::vulkan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Sets an environment variable while this object lives.
class GlslEnvironment {
 public:
  GlslEnvironment(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    setenv(name, value, 1);
  }
  ~GlslEnvironment() {
    if (before_)
      setenv(name_, before_->c_str(), 1);
    else
      unsetenv(name_);
  }
  GlslEnvironment(const GlslEnvironment&) = delete;
  GlslEnvironment& operator=(const GlslEnvironment&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

TEST(GlslKernelTest, PragmasNameTheKernels) {
  EXPECT_THAT(kernel_pragmas("#version 450\n#pragma kernel saxpy\n  #  pragma  kernel  sum // of it\n", "shader"),
              ElementsAre("saxpy", "sum"));
  EXPECT_THAT(
      kernel_pragmas("#version 450\n#pragma kernels a\n#pragma optimize(on)\n// #pragma kernel b\nvoid main() {}",
                     "shader"),
      IsEmpty());
  EXPECT_THAT(kernel_pragmas("", "shader"), IsEmpty());
}

TEST(GlslKernelTest, PragmaWithoutANameOrWithARepeatedNameIsAnErrorWithItsLine) {
  for (const char* text : {"\n#pragma kernel\n", "\n#pragma kernel 3d\n", "#pragma kernel a\n#pragma kernel a"}) {
    try {
      kernel_pragmas(text, "a.comp");
      ADD_FAILURE() << text;
    } catch (const CompileError& error) {
      EXPECT_EQ(error.line(), 2u);
      EXPECT_EQ(error.file(), "a.comp");
    }
  }
}

TEST(GlslOptionsTest, AcceptsMacrosAndRefusesUnknownOptions) {
  const GlslOptions options = parse_glsl_options({"-DN=3", "-D", "FAST", "-DEMPTY=", "-g"});
  EXPECT_THAT(options.macros, ElementsAre(std::pair("N", "3"), std::pair("FAST", ""), std::pair("EMPTY", "")));
  EXPECT_TRUE(options.debug);
  EXPECT_THROW(parse_glsl_options({"-ffast-math"}), InvalidArgument);
  EXPECT_THROW(parse_glsl_options({"-D3=4"}), InvalidArgument);
  EXPECT_THROW(parse_glsl_options({"-D"}), InvalidArgument);
}

TEST(GlslLogTest, FirstErrorIsFoundWithItsLine) {
  const CompileError error = glsl_error(
      "shader:2: warning: 'a' : odd\nshader:3: error: 'x' : undeclared identifier\nshader:4: error: 'y' : bad\n",
      "shader");
  EXPECT_EQ(error.file(), "shader");
  EXPECT_EQ(error.line(), 3u);
  EXPECT_EQ(error.text(), "'x' : undeclared identifier");
  EXPECT_THAT(error.what(), HasSubstr("shader:4: error: 'y' : bad"));
}

TEST(GlslLogTest, LogWithoutAPositionIsKeptAndAnEmptyLogIsReported) {
  const CompileError linking = glsl_error("shader: error: Linking compute stage: Missing entry point\n", "shader");
  EXPECT_EQ(linking.line(), 0u);
  EXPECT_EQ(linking.text(), "Linking compute stage: Missing entry point");
  EXPECT_STREQ(glsl_error("Killed", "shader").what(), "Killed");
  EXPECT_THAT(glsl_error("", "shader").what(), HasSubstr("does not say why"));
}

TEST(GlslLogTest, GlslangsLogIsConvertedToTheSameForm) {
  EXPECT_EQ(tidy_glslang_log("/tmp/k/kernel.comp\n"
                             "ERROR: /tmp/k/kernel.comp:3: 'x' : undeclared identifier \n"
                             "WARNING: /tmp/k/kernel.comp:4: 'y' : odd\n"
                             "ERROR: /tmp/k/kernel.comp:3: '' : compilation terminated \n"
                             "ERROR: 2 compilation errors.  No code generated.\n\n\n"
                             "ERROR: Linking compute stage: Missing entry point\n"
                             "SPIR-V is not generated for failed compile or link\n",
                             "/tmp/k/kernel.comp", "shader"),
            "shader:3: error: 'x' : undeclared identifier\n"
            "shader:4: warning: 'y' : odd\n");
  EXPECT_EQ(tidy_glslang_log("/tmp/k/kernel.comp\nERROR: Linking compute stage: Missing entry point\n",
                             "/tmp/k/kernel.comp", "shader"),
            "shader: error: Linking compute stage: Missing entry point\n");
}

TEST(GlslCompilerTest, WithoutACompilerThePackageIsNamed) {
  const GlslEnvironment glslang("KYMO_GLSLANG", "/nowhere/glslang");
  try {
    const GlslCompiler compiler;
    ADD_FAILURE();
  } catch (const NotAvailable& error) {
    EXPECT_THAT(error.what(), HasSubstr("glslang-tools"));
  }
}

}  // namespace
}  // namespace kymo::device::vulkan
