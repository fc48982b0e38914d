#include "base/device_identity.h"

#include <gtest/gtest.h>

namespace kymo::base {
namespace {

TEST(DeviceIdentityTest, TheSameDeviceHasTheSameUuidEverywhere) {
  const std::string uuid = opencl_device_uuid("Portable Computing Language", "Vendor", "cpu", 0);
  EXPECT_EQ(uuid.size(), 32u);
  EXPECT_EQ(uuid.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(uuid, opencl_device_uuid("Portable Computing Language", "Vendor", "cpu", 0));
  EXPECT_NE(uuid, opencl_device_uuid("Portable Computing Language", "Vendor", "cpu", 1));
}

}  // namespace
}  // namespace kymo::base
