#include "cli/start_time.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

#include "kymo/error.h"

namespace kymo::cli {
namespace {

constexpr uint64_t kStartSecond = 1'000'000'000;
constexpr uint64_t kStartNow = 1'769'868'000 * kStartSecond;  // 2026-01-31 14:00:00 UTC

class StartTimeTest : public ::testing::Test {
 protected:
  StartTimeTest() { set_zone("UTC"); }
  ~StartTimeTest() override { unsetenv("TZ"), tzset(); }
  static void set_zone(const char* zone) {
    setenv("TZ", zone, 1);
    tzset();
  }
};

TEST_F(StartTimeTest, PlusIsRelativeToNow) {
  EXPECT_EQ(parse_start_time("+10s", kStartNow), kStartNow + 10 * kStartSecond);
  EXPECT_EQ(parse_start_time("+250ms", kStartNow), kStartNow + kStartSecond / 4);
}

TEST_F(StartTimeTest, TimeWithoutADateIsTodayInLocalTime) {
  EXPECT_EQ(parse_start_time("14:30", kStartNow), kStartNow + 1800 * kStartSecond);
  EXPECT_EQ(parse_start_time("14:00:05.25", kStartNow), kStartNow + 5 * kStartSecond + kStartSecond / 4);
  set_zone("XYZ-2");  // two hours before: it is 16:00
  EXPECT_EQ(parse_start_time("16:30", kStartNow), kStartNow + 1800 * kStartSecond);
  EXPECT_EQ(parse_start_time("14:30Z", kStartNow), kStartNow + 1800 * kStartSecond);
}

TEST_F(StartTimeTest, DateCanPrecedeTheTime) {
  EXPECT_EQ(parse_start_time("2026-02-01 14:00", kStartNow), kStartNow + 86'400 * kStartSecond);
  EXPECT_EQ(parse_start_time("2026-02-01T14:00:00Z", kStartNow), kStartNow + 86'400 * kStartSecond);
}

TEST_F(StartTimeTest, UnixTimeStartsWithAnAtSign) {
  EXPECT_EQ(parse_start_time("@1769868001.5", kStartNow), kStartNow + kStartSecond * 3 / 2);
}

TEST_F(StartTimeTest, PastIsRefused) {
  EXPECT_THROW(parse_start_time("13:59", kStartNow), InvalidArgument);
  EXPECT_THROW(parse_start_time("2025-12-31 14:30", kStartNow), InvalidArgument);
  EXPECT_THROW(parse_start_time("@0", kStartNow), InvalidArgument);
}

TEST_F(StartTimeTest, OtherFormsAreRefused) {
  for (const char* text : {"",
                           "soon",
                           "14",
                           "14:",
                           "14:3",
                           "24:00",
                           "14:60",
                           "14:30:60",
                           "14:30:05.",
                           "14:30 pm",
                           "-1:30",
                           "2026-13-01 14:30",
                           "2026-02-30 14:30",
                           "2026-01-31",
                           "2026-01-31 ",
                           "+",
                           "+10",
                           "@",
                           "@-1",
                           "@1e9",
                           "@99999999999999999999",
                           "14:30:05.1234567890"})
    EXPECT_THROW(parse_start_time(text, kStartNow), InvalidArgument) << text;
}

}  // namespace
}  // namespace kymo::cli
