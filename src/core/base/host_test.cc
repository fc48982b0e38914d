#include "base/host.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace kymo::base {
namespace {

TEST(HostTest, BootIdIsOneLineAndStaysTheSame) {
  const std::string id = boot_id();
  EXPECT_EQ(id.size(), 36u);
  EXPECT_EQ(id.find_first_not_of("0123456789abcdef-"), std::string::npos) << id;
  EXPECT_EQ(boot_id(), id);
}

TEST(HostTest, NameIsTheOneOfTheSystem) {
  char name[256] = {};
  ASSERT_EQ(gethostname(name, sizeof name - 1), 0);
  EXPECT_EQ(host_name(), name);
}

TEST(DeviceIdentityTest, TheSameDeviceHasTheSameUuidEverywhere) {
  const std::string uuid = opencl_device_uuid("Portable Computing Language", "Vendor", "cpu", 0);
  EXPECT_EQ(uuid.size(), 32u);
  EXPECT_EQ(uuid.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(uuid, opencl_device_uuid("Portable Computing Language", "Vendor", "cpu", 0));
  EXPECT_NE(uuid, opencl_device_uuid("Portable Computing Language", "Vendor", "cpu", 1));
}

}  // namespace
}  // namespace kymo::base
