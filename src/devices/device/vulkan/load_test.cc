#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "device/vulkan/api.h"
#include "kymo/error.h"

namespace kymo::device::vulkan {
namespace {

using ::testing::HasSubstr;

std::string loading(const char* library) {
  const char* before = std::getenv("KYMO_VULKAN_LIBRARY");
  const std::optional<std::string> kept = before != nullptr ? std::optional<std::string>(before) : std::nullopt;
  setenv("KYMO_VULKAN_LIBRARY", library, 1);
  std::string what;
  try {
    open_library();
  } catch (const NotAvailable& error) {
    what = error.what();
  }
  if (kept)
    setenv("KYMO_VULKAN_LIBRARY", kept->c_str(), 1);
  else
    unsetenv("KYMO_VULKAN_LIBRARY");
  return what;
}

TEST(VulkanLoadTest, MissingLibraryIsNamedWithThePackage) {
  const std::string what = loading("/nowhere/libvulkan.so.1");
  EXPECT_THAT(what, HasSubstr("/nowhere/libvulkan.so.1"));
  EXPECT_THAT(what, HasSubstr("libvulkan1"));
  EXPECT_EQ(what.find('\n'), std::string::npos);
}

TEST(VulkanLoadTest, FileThatIsNotALibraryIsRefused) { EXPECT_THAT(loading("/etc/passwd"), HasSubstr("libvulkan1")); }

TEST(VulkanLoadTest, LibraryWithoutTheFunctionsNamesTheFirstMissingOne) {
  EXPECT_THAT(loading("libm.so.6"), HasSubstr("vkGetInstanceProcAddr"));
}

TEST(VulkanResultTest, ErrorNamesTheCallTheResultAndItsMeaning) {
  try {
    check(VK_ERROR_DEVICE_LOST, "vkQueueSubmit");
    ADD_FAILURE();
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), HasSubstr("vkQueueSubmit"));
    EXPECT_THAT(error.what(), HasSubstr("VK_ERROR_DEVICE_LOST"));
    EXPECT_THAT(error.what(), HasSubstr("gone"));
  }
  EXPECT_NO_THROW(check(VK_NOT_READY, "vkGetQueryPoolResults"));
  EXPECT_THROW(check(static_cast<VkResult>(-12345), "vkSomething"), DeviceError);
}

}  // namespace
}  // namespace kymo::device::vulkan
