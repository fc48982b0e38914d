// What is written is GLSL: glslang compiles it, and no two operations on floats may become one.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <unordered_set>

#include "shader/emit/glsl_samples_memory.h"

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

  // The words of the kernel's module; none where it does not compile.
  std::vector<uint32_t> compile(const std::string& text, std::string_view kernel) {
    const std::string input = folder_ / "kernel.comp", output = folder_ / "kernel.spv", log = folder_ / "log";
    std::ofstream(input) << text;
    const std::string command =
        fmt::format("glslangValidator -V --target-env vulkan1.2 -S comp -D{}=main -o {} {} > {} 2>&1", kernel, output,
                    input, log);
    const bool is_compiled = std::system(command.c_str()) == 0;
    log_ = read(log);
    if (!is_compiled) return {};
    const std::string bytes = read(output);
    std::vector<uint32_t> words(bytes.size() / sizeof(uint32_t));
    std::copy_n(bytes.data(), words.size() * sizeof(uint32_t), reinterpret_cast<char*>(words.data()));
    return words;
  }

  static std::string read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

  fs::path folder_;
  std::string log_;
};

// Results of arithmetic on floats that are not decorated with NoContraction.
uint32_t glsl_contractible(const std::vector<uint32_t>& words) {
  constexpr uint32_t kHeader = 5, kDecorate = 71, kNoContraction = 42;
  const std::unordered_set<uint32_t> arithmetic{127, 129, 131, 133, 136, 140, 141, 142};
  std::unordered_set<uint32_t> exact;
  uint32_t found = 0;
  for (size_t at = kHeader; at < words.size(); at += std::max(1U, words[at] >> 16)) {
    const uint32_t operation = words[at] & 0xffff;
    if (operation == kDecorate && words[at + 2] == kNoContraction) exact.insert(words[at + 1]);
    if (arithmetic.contains(operation)) found += !exact.contains(words[at + 2]);
  }
  return found;
}

TEST_P(GlslCompileTest, TheTextCompilesAndNoOperationsMayBeContracted) {
  GlslModule module;
  GetParam().make(module);
  ASSERT_EQ(ir::verify(module.module()), "");
  const Emitted emitted = emit_glsl(module.module());
  const std::vector<uint32_t> words = compile(emitted.text, GetParam().name);
  ASSERT_FALSE(words.empty()) << log_ << emitted.text;
  EXPECT_THAT(log_, ::testing::Not(::testing::HasSubstr("WARNING")));
  EXPECT_EQ(glsl_contractible(words), 0U) << emitted.text;
}

INSTANTIATE_TEST_SUITE_P(All, GlslCompileTest, ::testing::ValuesIn(all_samples()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace kymo::shader::glsl_tests
