// What is written is GLSL: glslang compiles it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/text.h"
#include "shader/emit/test_glsl_samples.h"
#include "shader/test_support/verify_ir.h"

namespace kymo::shader::glsl_tests {
namespace {

namespace fs = std::filesystem;

class GlslCompileTest : public ::testing::TestWithParam<Sample> {
 protected:
  void SetUp() override {
    if (std::system("glslangValidator --version > /dev/null 2>&1") != 0)
      GTEST_SKIP() << "there is no program glslangValidator (Debian: glslang-tools)";
    std::string pattern = fs::temp_directory_path() / "kymo-glsl-test-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }

  bool compiles(const std::string& text, std::string_view kernel) {
    const std::string input = folder_ / "kernel.comp", output = folder_ / "kernel.spv", log = folder_ / "log";
    std::ofstream(input) << text;
    const std::string command = base::format(
        "glslangValidator -V --target-env vulkan1.2 -S comp -D{}=main -o {} {} > {} 2>&1", kernel, output, input, log);
    const bool is_compiled = std::system(command.c_str()) == 0;
    log_ = read(log);
    return is_compiled;
  }

  static std::string read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

  fs::path folder_;
  std::string log_;
};

TEST_P(GlslCompileTest, TheTextCompiles) {
  GlslModule module;
  GetParam().make(module);
  ASSERT_EQ(ir::verify(module.module()), "");
  const Emitted emitted = emit_glsl(module.module());
  ASSERT_TRUE(compiles(emitted.text, GetParam().name)) << log_ << emitted.text;
  EXPECT_THAT(log_, ::testing::Not(::testing::HasSubstr("WARNING")));
}

INSTANTIATE_TEST_SUITE_P(All, GlslCompileTest, ::testing::ValuesIn(all_samples()),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace kymo::shader::glsl_tests
