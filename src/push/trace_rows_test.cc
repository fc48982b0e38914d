#include "push/trace_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "analyze/report/collective_calls.h"
#include "push/warnings.h"
#include "trace/test_recorder.h"

namespace kymo::push {
namespace {

using ::testing::ElementsAre;
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
  const RowHead head = add_summary(blocks, trace::Reader(folder / "trace.kymo"), 1, {"job", 0, "trace.kymo"}, false);
  EXPECT_EQ(head.left_out, 3U);
  EXPECT_EQ(blocks.collectives.rows(), analyze::CollectiveCalls::kMostRows);
}

// Two processes of a program, which name their iterations. A worker beside them names none.
TEST(TraceRowsTest, IterationsOfASecondProcessMakeATraceIncomplete) {
  constexpr uint32_t kMain = 1, kStep = 1;
  const TemporaryFolder folder;
  const std::string path = folder / "trace.kymo";
  for (const auto& [writer, name, count] : std::vector<std::tuple<uint8_t, std::string, uint64_t>>{
           {1, "step {}", 7}, {2, "step {}", 2}, {3, "load {}", 9}}) {
    TestRecorder recorder(path, writer, 100 + writer,
                          writer == 1 ? trace::Writer::Mode::Create : trace::Writer::Mode::Append);
    recorder.add_class(kStep, name, "", {{"", trace::FieldType::Int}});
    recorder.add_thread(kMain, 7, "main");
    for (uint64_t i = 0; i < count; ++i) {
      recorder.begin(kMain, 100 * i, kStep, {static_cast<int64_t>(i)});
      recorder.end(kMain, 100 * i + 50);
    }
    recorder.close();
  }
  SummaryBlocks blocks;
  const RowHead head = add_summary(blocks, trace::Reader(path), 1, {"job", 3, path}, false);
  EXPECT_EQ(blocks.iterations.rows(), 7U);
  EXPECT_EQ(head.other_processes, 1U);
  EXPECT_EQ(head.other_iterations, 2U);
  EXPECT_TRUE(head.lacks_parts());
  EXPECT_THAT(warnings_of(head, "a.kymo"),
              ElementsAre("a.kymo: 2 iterations of 1 other process of rank 3 are not pushed, because a trace has the "
                          "iterations of one process; record each process into a file of its own"));
}

TEST(TraceRowsTest, AnIterationWithoutAUsableNumberIsReported) {
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
  const RowHead head = add_summary(blocks, trace::Reader(folder / "trace.kymo"), 1, {"job", 0, "trace.kymo"}, false);
  EXPECT_EQ(blocks.iterations.rows(), 3U);
  EXPECT_EQ(head.unnumbered, 1U);
  EXPECT_FALSE(head.lacks_parts());
  const std::vector<std::string> warnings = warnings_of(head, "a.json");
  ASSERT_FALSE(warnings.empty());
  EXPECT_THAT(warnings[0], ::testing::HasSubstr("a.json: 1 iteration without a number from 0 to"));
}

}  // namespace
}  // namespace kymo::push
