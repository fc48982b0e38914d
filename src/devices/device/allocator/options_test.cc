#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>

#include "device/allocator/allocator.h"
#include "kymo/error.h"

namespace kymo::device {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class AllocatorOptionsTest : public ::testing::Test {
 protected:
  void SetUp() override { clear(); }
  void TearDown() override { clear(); }

  static void clear() {
    for (const char* name : {"KYMO_HIGH_WATERMARK_RATIO", "KYMO_LOW_WATERMARK_RATIO",
                             "PYTORCH_MPS_HIGH_WATERMARK_RATIO", "PYTORCH_MPS_LOW_WATERMARK_RATIO"})
      unsetenv(name);
  }
  static void set(const char* name, const char* value) { setenv(name, value, 1); }
  static std::string refusal() {
    try {
      AllocatorOptions::from_environment(false);
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "accepted";
  }
};

TEST_F(AllocatorOptionsTest, DefaultsDependOnWhetherTheHostSharesTheMemory) {
  const auto discrete = AllocatorOptions::from_environment(false);
  EXPECT_EQ(discrete.high, 1.0);
  EXPECT_EQ(discrete.low, 0.8);
  const auto unified = AllocatorOptions::from_environment(true);
  EXPECT_EQ(unified.high, 1.7);
  EXPECT_EQ(unified.low, 1.4);
  EXPECT_TRUE(unified.unified);
}

TEST_F(AllocatorOptionsTest, LowRatioFollowsALoweredHighRatio) {
  set("KYMO_HIGH_WATERMARK_RATIO", "0.5");
  EXPECT_EQ(AllocatorOptions::from_environment(false).low, 0.5);
  EXPECT_EQ(AllocatorOptions::from_environment(true).low, 0.5);
  set("KYMO_HIGH_WATERMARK_RATIO", "0");
  EXPECT_EQ(AllocatorOptions::from_environment(true).high, 0);
  EXPECT_EQ(AllocatorOptions::from_environment(true).low, 1.4);
}

TEST_F(AllocatorOptionsTest, PytorchVariablesWorkAndKymoVariablesHavePriority) {
  set("PYTORCH_MPS_HIGH_WATERMARK_RATIO", "0.7");
  set("PYTORCH_MPS_LOW_WATERMARK_RATIO", "0.25");
  EXPECT_EQ(AllocatorOptions::from_environment(false).high, 0.7);
  EXPECT_EQ(AllocatorOptions::from_environment(false).low, 0.25);
  set("KYMO_HIGH_WATERMARK_RATIO", "0.9");
  set("KYMO_LOW_WATERMARK_RATIO", "");  // an empty variable counts as not set
  EXPECT_EQ(AllocatorOptions::from_environment(false).high, 0.9);
  EXPECT_EQ(AllocatorOptions::from_environment(false).low, 0.25);
}

TEST_F(AllocatorOptionsTest, BadValuesAreRefusedWithNameValueAndValidRange) {
  for (const char* bad : {"much", "1.0x", "nan", "inf", "-0.1", "2.01", " "}) {
    set("KYMO_HIGH_WATERMARK_RATIO", bad);
    EXPECT_THAT(refusal(), AllOf(HasSubstr(std::string("KYMO_HIGH_WATERMARK_RATIO=") + bad), HasSubstr("to 2"))) << bad;
  }
  set("KYMO_HIGH_WATERMARK_RATIO", "0.5");
  set("PYTORCH_MPS_LOW_WATERMARK_RATIO", "0.6");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("PYTORCH_MPS_LOW_WATERMARK_RATIO=0.6"), HasSubstr("to 0.5")));
  set("KYMO_HIGH_WATERMARK_RATIO", "0");
  EXPECT_EQ(refusal(), "accepted");
}

TEST_F(AllocatorOptionsTest, OptionsSetInCodeAreChecked) {
  // The low ratio follows the high one.
  EXPECT_NO_THROW((AllocatorOptions{.unified = false, .high = 0.1, .low = 0.8}.check()));
  EXPECT_THROW((AllocatorOptions{.unified = false, .high = 2.5, .low = 0.8}.check()), InvalidArgument);
  EXPECT_THROW((AllocatorOptions{.unified = false, .high = 1, .low = std::nan("")}.check()), InvalidArgument);
}

}  // namespace
}  // namespace kymo::device
