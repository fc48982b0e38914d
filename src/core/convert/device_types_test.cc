#include "convert/device_types.h"

#include <gtest/gtest.h>

namespace kymo::convert {
namespace {

TEST(DeviceTypesTest, NamesAndNumbersBelongTogether) {
  EXPECT_EQ(device_label({10, 0}), "Vulkan 0");
  EXPECT_EQ(device_label({0, -1}), "CPU 0");
  EXPECT_EQ(device_label({42, 1}), "device 42:1");
  EXPECT_EQ(device_key({1, 2}), "cuda:2");
  EXPECT_EQ(device_key({0, -1}), "cpu");
  EXPECT_EQ(device_key({-3, 1}), "device -3:1");
  EXPECT_EQ(device_numbers("cuda:2").type, 1);
  EXPECT_EQ(device_numbers("cuda:2").index, 2);
  EXPECT_EQ(device_numbers("vulkan").index, 0);
  for (const char* const other : {"cpu", "heap", "host", "", "cudax:1"}) {
    EXPECT_EQ(device_numbers(other).type, 0) << other;
    EXPECT_EQ(device_numbers(other).index, -1) << other;
  }
}

}  // namespace
}  // namespace kymo::convert
