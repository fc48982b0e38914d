#include "device/plain_cpu/plain_cpu.h"

#include <gtest/gtest.h>

#ifdef KYMO_HAVE_VULKAN
#include "device/vulkan/physical_device.h"
#endif

namespace kymo::device {
namespace {

TEST(PlainCpuTest, EveryProcessorHasAModelWithoutSve) {
  const std::string v1 =
      "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd40\nCPU revision\t: 1\n\n"
      "processor\t: 1\nCPU implementer\t: 0x41\nCPU part\t: 0xd40\nCPU revision\t: 1\n";
  const std::string plain = plain_cpuinfo(v1);
  EXPECT_EQ(plain.find("0xd40"), std::string::npos);
  EXPECT_EQ(plain.size(), v1.size());
#ifdef KYMO_HAVE_VULKAN
  EXPECT_TRUE(vulkan::model_has_sve(v1));
  EXPECT_FALSE(vulkan::model_has_sve(plain));
#endif
}

TEST(PlainCpuTest, TextWithoutACpuPartStaysUnchanged) {
  EXPECT_EQ(plain_cpuinfo(""), "");
  EXPECT_EQ(plain_cpuinfo("model name\t: Xeon\n"), "model name\t: Xeon\n");
  EXPECT_EQ(plain_cpuinfo("CPU part\t: 0xd40"), "CPU part\t: 0xd0c") << "without a last end of line";
}

#ifdef KYMO_HAVE_VULKAN
TEST(PlainCpuTest, TestProgramCanUseMesasCpuDriver) { EXPECT_EQ(vulkan::llvmpipe_fault(), ""); }
#endif

}  // namespace
}  // namespace kymo::device
