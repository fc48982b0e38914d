#include "analyze/report/iteration_operations.h"

#include <gtest/gtest.h>

#include "trace/test_recorder.h"

namespace kymo::analyze {
namespace {

using trace::testing::TemporaryFolder;
using trace::testing::TestRecorder;

constexpr uint32_t kMain = 1, kStream = 2;
enum Class : uint32_t { kStep = 1, kOperator, kInner, kKernel, kNccl, kMark };

class IterationOperationsTest : public ::testing::Test {
 protected:
  IterationOperationsTest() : recorder_(folder_ / "trace.kymo") {
    recorder_.add_class(kStep, "ProfilerStep#{}", "user_annotation", {{"", trace::FieldType::Int}});
    recorder_.add_class(kOperator, "aten::mm", "cpu_op");
    recorder_.add_class(kInner, "inner", "");
    recorder_.add_class(kKernel, "gemm", "kernel");
    recorder_.add_class(kNccl, "ncclDevKernel_AllReduce", "kernel");
    recorder_.add_class(kMark, "step {}", "kymo", {{"", trace::FieldType::Int}});
    recorder_.add_thread(kMain, 7, "main");
    trace::Track track;
    track.id = kStream;
    track.kind = trace::TrackKind::DeviceQueue;
    track.clock = TestRecorder::kClock;
    track.device_uuid = "GPU 0";
    recorder_.add_track(track);
  }

  void read() {
    recorder_.close();
    reader_.emplace(folder_ / "trace.kymo");
    walk_.emplace(*reader_);
    work_ = read_device_work(*walk_);
    iterations_ = find_iterations(*walk_, launching_track(work_));
    operations_ = iteration_operations(*walk_, work_, iterations_);
  }
  const IterationOperation* row(const std::string& name, bool on_device = false) const {
    for (const IterationOperation& one : operations_.rows)
      if (one.name == name && one.on_device == on_device) return &one;
    return nullptr;
  }

  TemporaryFolder folder_;
  TestRecorder recorder_;
  std::optional<trace::Reader> reader_;
  std::optional<EventWalk> walk_;
  DeviceWork work_;
  Iterations iterations_;
  IterationOperations operations_;
};

TEST_F(IterationOperationsTest, CountsSumsAndQuantilesAreOfAllIterations) {
  for (int step = 0; step < 2; ++step) {
    const uint64_t at = 1'000 * static_cast<uint64_t>(step);
    recorder_.begin(kMain, at, kStep, {int64_t{40 + step}});
    recorder_.begin(kMain, at + 100, kOperator);
    recorder_.begin(kMain, at + 120, kInner);
    recorder_.end(kMain, at + 150);
    recorder_.end(kMain, at + 200);
    recorder_.begin(kMain, at + 300, kOperator);
    recorder_.end(kMain, at + 600);
    recorder_.end(kMain, at + 1'000);
    recorder_.complete(kStream, at + 310, at + 320, kKernel);
    recorder_.complete(kStream, at + 330, at + 400, kNccl);
  }
  read();
  ASSERT_EQ(iterations_.list.size(), 2u);
  const IterationOperation* const mm = row("aten::mm");
  ASSERT_NE(mm, nullptr);
  EXPECT_EQ(mm->count, 4u);
  EXPECT_EQ(mm->total_ns, 800u);
  EXPECT_EQ(mm->self_ns, 740u);
  EXPECT_EQ(mm->min_ns, 100u);
  EXPECT_EQ(mm->median_ns, 200u);
  EXPECT_EQ(mm->max_ns, 300u);
  const IterationOperation* const gemm = row("gemm", true);
  ASSERT_NE(gemm, nullptr);
  EXPECT_EQ(gemm->self_ns, 20u);
  const IterationOperation* const nccl = row("ncclDevKernel_AllReduce", true);
  ASSERT_NE(nccl, nullptr);
  EXPECT_EQ(nccl->kind, WorkKind::Communication);
  EXPECT_EQ(row("ProfilerStep#{}")->self_ns, 1'200u);
  EXPECT_EQ(iteration_numbers(*walk_, iterations_), (IterationNumbers{40, 41}));
}

TEST_F(IterationOperationsTest, AnOperationOutsideOfIterationsIsInNoRow) {
  recorder_.begin(kMain, 0, kOperator);
  recorder_.end(kMain, 90);
  recorder_.begin(kMain, 100, kStep, {int64_t{1}});
  recorder_.end(kMain, 1'000);
  read();
  EXPECT_EQ(row("aten::mm"), nullptr);
}

TEST_F(IterationOperationsTest, StepMarksGiveTheNumbers) {
  for (int64_t step = 7; step < 10; ++step)
    recorder_.point(kMain, 100 * static_cast<uint64_t>(step), trace::PointKind::Instant, kMark, 0, {step});
  read();
  EXPECT_EQ(iteration_numbers(*walk_, iterations_), (IterationNumbers{7, 8}));
}

TEST_F(IterationOperationsTest, ANegativeNumberIsNotThatOfAnIteration) {
  for (int64_t step = -5; step < -2; ++step) {
    const uint64_t at = 100 * static_cast<uint64_t>(step + 5);
    recorder_.begin(kMain, at, kStep, {step});
    recorder_.end(kMain, at + 90);
  }
  read();
  EXPECT_EQ(iterations_.list.size(), 3u);
  EXPECT_TRUE(iteration_numbers(*walk_, iterations_).empty());
}

TEST_F(IterationOperationsTest, IterationsWithoutNumbersHaveNone) {
  recorder_.begin(kMain, 0, kOperator);
  recorder_.end(kMain, 90);
  read();
  EXPECT_TRUE(iteration_numbers(*walk_, iterations_).empty());
}

TEST_F(IterationOperationsTest, OnlyAnIterationWithANumberThatIsTooLargeHasNone) {
  constexpr uint32_t kFirstName = 100;
  const std::string names[] = {"ProfilerStep#7", "ProfilerStep#99999999999999999999",
                               "ProfilerStep#18446744073709551615", "ProfilerStep#-1"};
  for (uint32_t i = 0; i < std::size(names); ++i) {
    recorder_.add_class(kFirstName + i, names[i], "user_annotation");
    recorder_.begin(kMain, 100 * i, kFirstName + i);
    recorder_.end(kMain, 100 * i + 90);
  }
  read();
  EXPECT_EQ(iteration_numbers(*walk_, iterations_), (IterationNumbers{7, std::nullopt, UINT64_MAX}));
}

TEST(IterationRunsTest, AnIterationWithoutANumberEndsNoRun) {
  const IterationNumbers numbers = {5, std::nullopt, 6, 5};
  const std::vector<uint32_t> runs = iteration_runs(numbers);
  EXPECT_EQ(runs, (std::vector<uint32_t>{0, 0, 0, 1}));
  EXPECT_EQ(repeated_later(numbers, runs), (std::vector<bool>{true, false, false, false}));
}

TEST(IterationRunsTest, ARunEndsBeforeASmallerNumber) {
  const IterationNumbers numbers = {1, 2, 2, 3, 2, 3, 4, 1};
  const std::vector<uint32_t> runs = iteration_runs(numbers);
  EXPECT_EQ(runs, (std::vector<uint32_t>{0, 0, 0, 0, 1, 1, 1, 2}));
  EXPECT_EQ(repeated_later(numbers, runs), (std::vector<bool>{true, true, true, true, false, false, false, false}));
  EXPECT_TRUE(iteration_runs({}).empty());
  EXPECT_TRUE(repeated_later({}, {}).empty());
}

}  // namespace
}  // namespace kymo::analyze
