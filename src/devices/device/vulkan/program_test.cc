#include "device/vulkan/program.h"

#include <gtest/gtest.h>

namespace kymo::device::vulkan {
namespace {

ProgramCode some_code() { return {{{"first", {1, 2, 3}}, {"", {4}}}, {std::byte{7}, std::byte{8}}}; }

TEST(VulkanProgramCodeTest, SurvivesARoundTrip) {
  const auto code = ProgramCode::decode(some_code().encode());
  ASSERT_TRUE(code);
  ASSERT_EQ(code->modules.size(), 2u);
  EXPECT_EQ(code->modules[0].name, "first");
  EXPECT_EQ(code->modules[0].words, (std::vector<uint32_t>{1, 2, 3}));
  EXPECT_EQ(code->modules[1].name, "");
  EXPECT_EQ(code->modules[1].words, std::vector<uint32_t>{4});
  EXPECT_EQ(code->cache, some_code().cache);
}

TEST(VulkanProgramCodeTest, TruncationIsNoticed) {
  const std::vector<std::byte> whole = some_code().encode();
  for (size_t i = 0; i < whole.size(); ++i) EXPECT_FALSE(ProgramCode::decode(std::span(whole).first(i))) << i;
}

}  // namespace
}  // namespace kymo::device::vulkan
