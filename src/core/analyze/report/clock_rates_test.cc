#include "analyze/report/clock_rates.h"

#include <gtest/gtest.h>

#include "trace/test_recorder.h"

namespace kymo::analyze {
namespace {

using trace::testing::kMonotonicZero;
using trace::testing::TemporaryFolder;
using trace::testing::TestRecorder;

TEST(ClockRatesTest, KnowsTheNamesOfClocks) {
  for (const char* const name : {"GPC Clock Frequency [MHz]", "SM clock", "smClockMHz", "gpu_clock_mhz", "cpufreq",
                                 "cpu 3 frequency", "mem clk", "sclk", "GPU 0 core clock rate"})
    EXPECT_TRUE(names_clock_rate(name)) << name;
  for (const char* const name : {"clock", "clock error", "wall clock offset", "wall clock", "frequent", "clockwise",
                                 "block", "", "queue length"})
    EXPECT_FALSE(names_clock_rate(name)) << name;
}

TEST(ClockRatesTest, AValueHoldsUntilTheNextOne) {
  const TemporaryFolder folder;
  TestRecorder recorder(folder / "t.kymo");
  recorder.add_class(1, "SM clock [MHz]", "", {{"", trace::FieldType::Int}});
  recorder.add_class(2, "queue length", "", {{"", trace::FieldType::Int}});
  recorder.add_class(3, "memory clock", "", {{"", trace::FieldType::Double}});
  recorder.add_thread(1, 1, "main");
  recorder.point(1, 0, trace::PointKind::Counter, 1, 0, {int64_t{2000}});
  recorder.point(1, 50, trace::PointKind::Counter, 2, 0, {int64_t{7}});
  recorder.point(1, 100, trace::PointKind::Counter, 1, 0, {int64_t{1000}});
  recorder.cut(1);
  recorder.point(1, 130, trace::PointKind::Counter, 3, 0, {1.5});
  recorder.point(1, 400, trace::PointKind::Counter, 1, 0, {int64_t{500}});
  recorder.point(1, 900, trace::PointKind::Counter, 1, 0, {int64_t{9}});  // after the window
  recorder.close();
  const trace::Reader reader(folder / "t.kymo");
  EventWalk walk(reader);
  const auto zero = static_cast<int64_t>(kMonotonicZero);
  const auto rates = clock_rates(walk, Intervals({{zero + 0, zero + 200}, {zero + 300, zero + 500}}));
  ASSERT_EQ(rates.size(), 2u);
  EXPECT_EQ(rates[0].name, "SM clock [MHz]");
  EXPECT_EQ(rates[0].min, 500);
  EXPECT_EQ(rates[0].max, 2000);
  EXPECT_DOUBLE_EQ(rates[0].mean, (100 * 2000 + 200 * 1000 + 100 * 500) / 400.0);
  EXPECT_EQ(rates[1].name, "memory clock");
  EXPECT_DOUBLE_EQ(rates[1].mean, 1.5);
}

}  // namespace
}  // namespace kymo::analyze
