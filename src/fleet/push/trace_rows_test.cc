#include "push/trace_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "analyze/report/collective_calls.h"
#include "trace/test_recorder.h"
#include "trace/test_support.h"

namespace kymo::push {
namespace {

using trace::testing::TemporaryFolder;
using trace::testing::TestRecorder;

TEST(TraceRowsTest, CallsThatAreTooManyMakeATraceIncomplete) {
  constexpr uint32_t kMain = 1, kStream = 2, kStep = 1, kReduce = 2;
  constexpr uint64_t kCalls = analyze::CollectiveCalls::kMostRows + 3;
  const TemporaryFolder folder;
  TestRecorder recorder(folder / "trace.kymo");
  recorder.add_class(kStep, "ProfilerStep#{}", "user_annotation", {{"", trace::FieldType::Int}});
  recorder.add_class(kReduce, "ncclDevKernel_AllReduce", "kernel");
  recorder.add_thread(kMain, 7, "main");
  recorder.add_queue(kStream, "GPU 0", "stream");
  recorder.begin(kMain, 0, kStep, {int64_t{1}});
  for (uint64_t i = 1; i <= kCalls; ++i) recorder.complete(kStream, 10 * i, 10 * i + 5, kReduce);
  recorder.end(kMain, 10 * (kCalls + 1));
  recorder.close();
  SummaryBlocks blocks;
  const RowHead head = add_summary(blocks, trace::Reader(folder / "trace.kymo"), 1, {"job", 0, "trace.kymo"});
  EXPECT_EQ(head.left_out, 3U);
  EXPECT_EQ(blocks.waits.rows(), 1U);
}

// A launcher may be busier than the rank that it waits for.
TEST(TraceRowsTest, IterationsAreNotThoseOfAHelper) {
  constexpr uint32_t kMain = 1, kLoop = 1, kInner = 2, kRank = 1, kLauncher = 2;
  const TemporaryFolder folder;
  const std::string path = folder / "trace.kymo";
  for (const auto& [writer, count, length] :
       std::vector<std::tuple<uint8_t, uint64_t, uint64_t>>{{kRank, 10, 90}, {kLauncher, 1, 1000}}) {
    TestRecorder recorder(path, writer, 100 + writer,
                          writer == kRank ? trace::Writer::Mode::Create : trace::Writer::Mode::Append);
    recorder.add_class(kLoop, "loop");
    recorder.add_class(kInner, "inner");
    recorder.add_thread(kMain, 7, "main");
    for (uint64_t i = 0; i < count; ++i) {
      recorder.begin(kMain, 100 * i, kLoop);
      recorder.complete(kMain, 100 * i + 10, 100 * i + 20, kInner, 1);
      recorder.end(kMain, 100 * i + length);
    }
    recorder.close();
  }
  SummaryBlocks blocks;
  add_summary(blocks, trace::Reader(path), 1, {"job", 3, path, "", {trace::testing::writer_id(kLauncher)}});
  EXPECT_EQ(blocks.iterations.rows(), 10U);
}

TEST(TraceRowsTest, AnIterationWithoutAUsableNumberCounts) {
  constexpr uint32_t kMain = 1;
  const TemporaryFolder folder;
  TestRecorder recorder(folder / "trace.kymo");
  recorder.add_thread(kMain, 7, "main");
  for (uint32_t i = 0; i < 3; ++i) {
    recorder.add_class(i + 1,
                       i == 1   ? "ProfilerStep#99999999999999999999"
                       : i == 0 ? "ProfilerStep#4"
                                : "ProfilerStep#5",
                       "user_annotation");
    recorder.begin(kMain, 100 * i, i + 1);
    recorder.end(kMain, 100 * i + 50);
  }
  recorder.close();
  SummaryBlocks blocks;
  const RowHead head = add_summary(blocks, trace::Reader(folder / "trace.kymo"), 1, {"job", 0, "trace.kymo"});
  EXPECT_EQ(blocks.iterations.rows(), 3U);
  EXPECT_TRUE(head.damage.empty());
}

}  // namespace
}  // namespace kymo::push
