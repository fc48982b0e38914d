#include "cli/read_progress.h"

#include <gtest/gtest.h>

namespace kymo::cli {
namespace {

constexpr uint64_t kStart = 7'000'000'000, kMillisecond = 1'000'000;

TEST(ReadProgressTest, BarIsFullInProportion) {
  EXPECT_EQ(bar_text(0, 4), "░░░░");
  EXPECT_EQ(bar_text(0.5, 4), "██░░");
  EXPECT_EQ(bar_text(1, 4), "████");
  EXPECT_EQ(bar_text(7, 2), "██");
  EXPECT_EQ(bar_text(-1, 2), "░░");
}

TEST(ReadProgressTest, ShortWorkShowsNothing) {
  ProgressMeter meter(1'000, kStart);
  EXPECT_FALSE(meter.reached(400, kStart + 100 * kMillisecond));
  EXPECT_FALSE(meter.reached(900, kStart + 499 * kMillisecond));
  EXPECT_EQ(meter.reached(950, kStart + 500 * kMillisecond), 0.95);
}

TEST(ReadProgressTest, UpdatesAreATenthOfASecondApart) {
  ProgressMeter meter(1'000, kStart);
  EXPECT_TRUE(meter.reached(100, kStart + 600 * kMillisecond));
  EXPECT_FALSE(meter.reached(200, kStart + 650 * kMillisecond));
  EXPECT_EQ(meter.reached(300, kStart + 700 * kMillisecond), 0.3);
}

TEST(ReadProgressTest, SecondPassStartsAgain) {
  ProgressMeter meter(1'000, kStart);
  EXPECT_EQ(meter.reached(1'000, kStart + 600 * kMillisecond), 1.0);
  EXPECT_EQ(meter.reached(1'010, kStart + 800 * kMillisecond), 0.01);
}

TEST(ReadProgressTest, AnEmptyFileIsHarmless) {
  EXPECT_FALSE(ProgressMeter(0, kStart).reached(10, kStart + 900 * kMillisecond));
  EXPECT_EQ(ProgressMeter(10, kStart).reached(0, kStart + 900 * kMillisecond), 0.0);
}

}  // namespace
}  // namespace kymo::cli
