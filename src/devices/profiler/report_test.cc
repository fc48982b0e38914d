#include "profiler/report.h"

#include <gtest/gtest.h>

#include "profiler/masks.h"
#include "profiler/test_signposts.h"

namespace kymo::profiler {
namespace {

using tests::printed_by;

TEST(SignpostReportTest, ModeOfStartAddsToTheMask) {
  const Wanted wanted = Wanted::from(parse_signposts("copies,events"), parse_mode("interval"), 0);
  EXPECT_TRUE(wanted.intervals(Subject::Copies));
  EXPECT_TRUE(wanted.events(Subject::Copies));
  EXPECT_TRUE(wanted.intervals(Subject::Operations));
  EXPECT_FALSE(wanted.events(Subject::Operations));
  EXPECT_TRUE(wanted.needs_devices());
  EXPECT_FALSE(wanted.waits());
}

TEST(SignpostReportTest, KindIsWatchedOnlyIfRequested) {
  const Wanted statistics = Wanted::from(0, 0, parse_log("copy-statistics"));
  EXPECT_TRUE(statistics.watches(Subject::Copies));
  EXPECT_FALSE(statistics.watches(Subject::Operations));
  EXPECT_FALSE(statistics.lines(Subject::Copies));
  const Wanted fallbacks = Wanted::from(0, 0, parse_log("fallbacks"));
  EXPECT_TRUE(fallbacks.watches(Subject::Fallbacks));
  EXPECT_FALSE(fallbacks.needs_devices());
  EXPECT_EQ(Wanted::from(0, 0, 0).bits(), 0u);
  EXPECT_TRUE(Wanted::from(kWait, 0, 0).needs_devices());
}

TEST(SignpostReportTest, LinesArePrintedAtTheBeginUnlessTheyHaveTimes) {
  Entry entry;
  entry.number = 4;
  const Execution execution{&entry, 2, 0, "scale"};
  const ExecutionTimes times{10, 20, 3'000'000, 5'000};
  const auto lines = [&](std::string_view log) {
    const ReportOptions report = ReportOptions::of(Wanted::from(0, 0, parse_log(log)), Subject::Operations);
    return printed_by([&] { report_begin(execution, report); }) + "|" +
           printed_by([&] { report_end(execution, report, &times); });
  };
  EXPECT_EQ(lines("operations"), "scale (id=K4, run=2)\n|");
  EXPECT_EQ(lines("operations,gpu-time"), "|scale (id=K4, run=2, gpu=3.000 ms)\n");
  EXPECT_EQ(lines("operations,call-time"), "|scale (id=K4, run=2, cpu=0.005 ms)\n");
  EXPECT_EQ(lines("operations,gpu-time,call-time"), "|scale (id=K4, run=2, gpu=3.000 ms, cpu=0.005 ms)\n");
  EXPECT_EQ(lines("copies,gpu-time"), "|");
}

TEST(SignpostReportTest, IntervalWithLostTimesStillEnds) {
  const tests::CollectingSink sink(false);
  Entry entry;
  const Execution execution{&entry, 2, 0, {}};
  const ReportOptions both = ReportOptions::of(Wanted::from(0, parse_mode("interval,event"), 0), Subject::Operations);
  EXPECT_FALSE(both.message);
  report_begin(execution, both);
  report_end(execution, both, nullptr);
  const auto received = sink.all();
  ASSERT_EQ(received.size(), 2u);
  EXPECT_EQ(received[0].which, tests::ReceivedSignpost::Which::Begin);
  EXPECT_EQ(received[1].which, tests::ReceivedSignpost::Which::End);
  EXPECT_EQ(received[0].execution, received[1].execution);
  EXPECT_EQ(received[1].end_ns, 0u);
}

}  // namespace
}  // namespace kymo::profiler
