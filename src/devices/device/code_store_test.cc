#include "device/code_store.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace kymo::device {
namespace {

StoredCode sample() {
  StoredCode code;
  for (int i = 0; i < 100; ++i) code.binary.push_back(static_cast<std::byte>(i));
  KernelInfo kernel;
  kernel.name = "scale";
  kernel.max_threads_per_group = 1024;
  kernel.execution_width = 32;
  kernel.group_memory = 512;
  kernel.required_group = {8, 8, 1};
  kernel.parameters = {{"x", ParameterKind::Buffer, DType::F32, 1, 8},
                       {"", ParameterKind::Unknown, std::nullopt, 1, 24}};
  KernelInfo translated;
  translated.name = "blur";
  translated.is_translated = true;
  translated.symbol = "blur_float";
  translated.order = {1, 0};
  translated.uses_simdgroups = translated.uses_simdgroup_matrices = translated.takes_grid = true;
  Parameter value{"radius", ParameterKind::Inline, DType::F32, 3, 16};
  value.value_offset = 16;
  value.inline_bytes = 32;
  Parameter errors{"errors", ParameterKind::Buffer, std::nullopt, 1, 15364};
  errors.reports_errors = errors.is_value = errors.is_addresses = true;
  Parameter image{"image", ParameterKind::Inline, DType::F16, 1, 64};
  image.texture = shader::TextureShape::Layers;
  image.value_offset = 8;
  image.inline_bytes = 72;
  translated.order = {1, 0, 2};
  translated.parameters = {value, errors, image};
  code.warnings = "blur.metal:3:5: warning: the attribute [[x]] is ignored\n";
  code.kernels = {kernel, KernelInfo{}, translated};
  return code;
}

TEST(CodeStoreTest, CodeAndReflectionSurviveEncoding) {
  const auto decoded = decode_code(encode_code(sample(), "key"), "key");
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->binary, sample().binary);
  ASSERT_EQ(decoded->kernels.size(), 3u);
  const KernelInfo& kernel = decoded->kernels[0];
  EXPECT_EQ(kernel.name, "scale");
  EXPECT_EQ(kernel.max_threads_per_group, 1024u);
  EXPECT_EQ(kernel.required_group, (Extent{8, 8, 1}));
  ASSERT_EQ(kernel.parameters.size(), 2u);
  EXPECT_EQ(kernel.parameters[0].type, DType::F32);
  EXPECT_EQ(kernel.parameters[1].type, std::nullopt);
  EXPECT_EQ(kernel.parameters[1].bytes, 24u);
}

TEST(CodeStoreTest, TranslatedKernelInfoSurvivesEncoding) {
  const auto decoded = decode_code(encode_code(sample(), "key"), "key");
  ASSERT_TRUE(decoded);
  EXPECT_FALSE(decoded->kernels[0].is_translated);
  const KernelInfo& kernel = decoded->kernels[2];
  EXPECT_TRUE(kernel.is_translated && kernel.uses_simdgroups && kernel.takes_grid);
  EXPECT_TRUE(kernel.uses_simdgroup_matrices);
  EXPECT_EQ(kernel.symbol_or_name(), "blur_float");
  EXPECT_EQ(kernel.order, (std::vector<uint32_t>{1, 0, 2}));
  EXPECT_EQ(kernel.parameters[2].texture, shader::TextureShape::Layers);
  EXPECT_EQ(decoded->warnings, sample().warnings);
  EXPECT_EQ(kernel.parameters[0].kind, ParameterKind::Inline);
  EXPECT_EQ(kernel.parameters[0].value_offset, 16u);
  EXPECT_EQ(kernel.parameters[0].inline_bytes, 32u);
  EXPECT_FALSE(kernel.parameters[0].reports_errors);
  EXPECT_TRUE(kernel.parameters[1].reports_errors && kernel.parameters[1].is_value &&
              kernel.parameters[1].is_addresses);
}

TEST(CodeStoreTest, CodeWithAnotherKeyIsRejected) { EXPECT_FALSE(decode_code(encode_code(sample(), "key"), "kez")); }

TEST(CodeStoreTest, DamagedOrTruncatedCodeIsRejected) {
  const auto good = encode_code(sample(), "key");
  for (size_t at = 0; at < good.size(); ++at) {
    auto bad = good;
    bad[at] ^= std::byte{0x40};
    EXPECT_FALSE(decode_code(bad, "key")) << at;
    EXPECT_FALSE(decode_code(std::span(good).first(at), "key")) << at;
  }
}

class CodeFolderTest : public ::testing::Test {
 protected:
  CodeFolderTest() {
    char name[] = "/tmp/kymo-code-XXXXXX";
    folder_ = mkdtemp(name);
    setenv("KYMO_CACHE_DIR", folder_.c_str(), 1);
  }
  ~CodeFolderTest() override {
    unsetenv("KYMO_CACHE_DIR");
    std::filesystem::remove_all(folder_);
  }
  std::string folder_;
};

TEST_F(CodeFolderTest, CodeIsFoundOnlyWithTheSameDeviceAndKey) {
  CodeStore("device", "key").write(sample());
  EXPECT_TRUE(CodeStore("device", "key").read());
  EXPECT_FALSE(CodeStore("device", "other").read());
  EXPECT_FALSE(CodeStore("other", "key").read());
}

TEST_F(CodeFolderTest, DamagedFileCountsAsMissingAndIsReplaced) {
  const CodeStore store("device", "key");
  store.write(sample());
  { std::ofstream(store.path(), std::ios::trunc) << "nonsense"; }
  EXPECT_FALSE(store.read());
  store.write(sample());
  EXPECT_TRUE(store.read());
}

TEST_F(CodeFolderTest, UnwritableFolderIsNotAnError) {
  setenv("KYMO_CACHE_DIR", "/proc/nonexistent", 1);
  const CodeStore store("device", "key");
  store.write(sample());
  EXPECT_FALSE(store.read());
  setenv("KYMO_CACHE_DIR", "", 1);
  const CodeStore off("device", "key");
  off.write(sample());
  EXPECT_FALSE(off.read());
  EXPECT_EQ(off.path(), "");
}

}  // namespace
}  // namespace kymo::device
