#include "device/vulkan/context.h"

#include <gtest/gtest.h>

namespace kymo::device::vulkan {
namespace {

VkBuffer some_buffer(uintptr_t number) { return reinterpret_cast<VkBuffer>(number); }

AddressRange some_range(uint64_t begin, uint64_t end, uintptr_t number) {
  return {begin, end, some_buffer(number), 16, VK_NULL_HANDLE, nullptr};
}

TEST(VulkanAddressTest, FindsTheBufferAndOffsetOfAnAddress) {
  AddressTable table;
  table.add(some_range(4096, 8192, 1));
  table.add(some_range(8192, 9000, 2));
  ASSERT_TRUE(table.find(8191));
  EXPECT_EQ(table.find(8191)->buffer, some_buffer(1));
  EXPECT_EQ(table.find(8191)->offset_of(8191), 4095u + 16);
  ASSERT_TRUE(table.find(8192));
  EXPECT_EQ(table.find(8192)->buffer, some_buffer(2));
  EXPECT_FALSE(table.find(4095));
  EXPECT_FALSE(table.find(9000));
}

TEST(VulkanAddressTest, RemovedEntriesAreNotFound) {
  AddressTable table;
  table.add(some_range(4096, 8192, 1));
  EXPECT_TRUE(table.find(5000));
  EXPECT_TRUE(table.remove(4096));
  EXPECT_FALSE(table.find(5000));
  table.add(some_range(4096, 6000, 3));
  ASSERT_TRUE(table.find(5000));
  EXPECT_EQ(table.find(5000)->buffer, some_buffer(3));
  EXPECT_FALSE(table.remove(4097));
}

}  // namespace
}  // namespace kymo::device::vulkan
