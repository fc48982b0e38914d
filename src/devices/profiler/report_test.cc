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

TEST(SignpostTextTest, SizesAreBytesBelowAKibibyteAndHaveTwoDecimalsAbove) {
  EXPECT_EQ(size_text(0), "0 B");
  EXPECT_EQ(size_text(1024), "1024 B");
  EXPECT_EQ(size_text(1536), "1.50 KiB");
  EXPECT_EQ(size_text(5 << 20), "5.00 MiB");
  EXPECT_EQ(size_text(uint64_t{3} << 30), "3.00 GiB");
  EXPECT_EQ(size_text(UINT64_MAX), "16.00 EiB");
}

TEST(SignpostTextTest, MessagesHaveOnlyKnownTimes) {
  Entry entry;
  entry.number = 2;
  EXPECT_EQ(message_of({&entry, 7, 0, "scale:opencl:0:f32[4]"}, {}), "scale:opencl:0:f32[4] (id=K2, run=7)");
  EXPECT_EQ(message_of({&entry, 7, 0, "scale"}, {123'456, 0}), "scale (id=K2, run=7, gpu=0.123 ms)");
  entry.number = 1;
  entry.kind = EntryKind::Operation;
  EXPECT_EQ(message_of({&entry, 1, 0, "scale"}, {123'456, 4'000}), "scale (id=G1, run=1, gpu=0.123 ms, cpu=0.004 ms)");
  entry.kind = EntryKind::Copy;
  EXPECT_EQ(message_of({&entry, 1, 64, "BlitCopy: a --> b"}, {2'000'000, 0}),
            "BlitCopy: a --> b (len=64 B, gpu=2.000 ms)");
  entry.kind = EntryKind::Fallback;
  EXPECT_EQ(message_of({&entry, 3, 4096, "sort"}, {0, 52'000}),
            "Host Fallback::sort (id=1, run=3, CopyOverhead=4.00 KiB, cpu=0.052 ms)");
}

TEST(SignpostTextTest, EmptyTensorIsUndefined) {
  const device::Tensor nothing;
  EXPECT_EQ(tensor_text(nothing, true), "undefined");
  const device::Tensor* const tensors[] = {&nothing, nullptr};
  EXPECT_EQ(scope_key("sort", tensors, false), "sort:undefined");
}

TEST(SignpostTextTest, HostSideOfACopyIsItsAddress) {
  device::Operation copy;
  copy.kind = device::OperationKind::CopyHostToDevice;
  copy.host = reinterpret_cast<const void*>(0x7f00);
  EXPECT_EQ(copy_key(copy, "opencl:0", false), "BlitCopy: host:0x7f00 --> opencl:0");
  copy.kind = device::OperationKind::CopyDeviceToHost;
  copy.blocking = true;
  EXPECT_EQ(copy_key(copy, "opencl:0", false), "BlitCopySync: opencl:0 --> host:0x7f00");
  copy.kind = device::OperationKind::CopyOnDevice;
  EXPECT_EQ(copy_key(copy, "opencl:0", false), "BlitCopySync: opencl:0 --> opencl:0");
}

}  // namespace
}  // namespace kymo::profiler
