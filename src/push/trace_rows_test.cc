#include "push/trace_rows.h"

#include <gtest/gtest.h>

#include "analyze/report/collective_calls.h"
#include "trace/test_recorder.h"

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
  const RowHead head = add_summary(blocks, trace::Reader(folder / "trace.kymo"), 1, {"job", 0, "trace.kymo"}, false);
  EXPECT_EQ(head.left_out, 3U);
  EXPECT_EQ(blocks.collectives.rows(), analyze::CollectiveCalls::kMostRows);
}

}  // namespace
}  // namespace kymo::push
