#include "device/vulkan/physical_device.h"

#include <gtest/gtest.h>

namespace kymo::device::vulkan {
namespace {

TEST(VulkanDriverFaultsTest, KnowsTheModelsForWhichLlvmAssumesSve) {
  EXPECT_TRUE(model_has_sve("processor\t: 0\nCPU implementer\t: 0x41\nCPU variant\t: 0x1\nCPU part\t: 0xd40\n"));
  EXPECT_FALSE(model_has_sve("processor\t: 0\nCPU implementer\t: 0x41\nCPU variant\t: 0x1\nCPU part\t: 0xd0c\n"));
  EXPECT_FALSE(model_has_sve("processor\t: 0\nvendor_id\t: GenuineIntel\n"));
  EXPECT_FALSE(model_has_sve(""));
  EXPECT_FALSE(model_has_sve("CPU implementer\t: 0xzz\nCPU part"));
}

}  // namespace
}  // namespace kymo::device::vulkan
