#include "analyze/functions/functions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "trace/test_recorder.h"

namespace kymo::functions {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using trace::FieldType;
using trace::PointKind;
using trace::testing::TemporaryFolder;
using trace::testing::TestRecorder;

enum SampleClass : uint32_t { kSample = 1, kOffCpu, kNode, kModule, kSymbol, kOnCpu, kWait, kPageFault };
constexpr uint32_t kMain = 1, kWorker = 2;
constexpr int64_t kComplete = 1, kNoTables = 2;
constexpr int64_t kKernel = INT64_MIN + 0x1000;  // as an address: in the upper half

class FunctionsTest : public ::testing::Test {
 protected:
  FunctionsTest() : recorder_(std::make_unique<TestRecorder>(folder_ / "run.kymo", 1)) {
    recorder_->add_class(kSample, "sample", "cpu", {{"node", FieldType::UInt}});
    recorder_->add_class(kOffCpu, "off CPU", "cpu", {{"ns", FieldType::UInt}, {"preempted", FieldType::Bool}});
    recorder_->add_class(kWait, "off CPU", "cpu",
                         {{"ns", FieldType::UInt}, {"preempted", FieldType::Bool}, {"node", FieldType::UInt}});
    recorder_->add_class(kPageFault, "page fault", "cpu",
                         {{"address", FieldType::Pointer}, {"count", FieldType::UInt}, {"node", FieldType::UInt}});
    recorder_->add_class(kOnCpu, "on CPU", "cpu", {{"ns", FieldType::UInt}});
    recorder_->add_class(kNode, "stack node", "kymo.stack",
                         {{"node", FieldType::UInt}, {"parent", FieldType::UInt}, {"address", FieldType::Pointer}});
    recorder_->add_class(kModule, "module", "kymo.stack",
                         {{"path", FieldType::String},
                          {"base", FieldType::Pointer},
                          {"size", FieldType::ByteCount},
                          {"build_id", FieldType::String}});
    recorder_->add_class(kSymbol, "symbol", "kymo.stack",
                         {{"address", FieldType::Pointer}, {"name", FieldType::String}});
    recorder_->add_thread(kMain, 100, "main");
    recorder_->add_thread(kWorker, 101, "worker");
    for (const uint32_t track : {kMain, kWorker})
      recorder_->point(track, 0, PointKind::Instant, kModule, 0,
                       {std::string("/gone/lib.so"), int64_t{0x1000}, int64_t{0x1000}, std::string("01")});
  }

  void node(uint32_t track, int64_t number, int64_t parent, int64_t address) {
    recorder_->point(track, 0, PointKind::Instant, kNode, 0, {number, parent, address});
  }
  void sample(uint32_t track, uint64_t time, int64_t number) {
    recorder_->point(track, time, PointKind::Sample, kSample, 0, {number});
  }
  Samples read() {
    if (recorder_) recorder_->close();
    recorder_.reset();
    return read_samples(trace::Reader(folder_ / "run.kymo"));
  }
  // Function → self samples, total samples.
  static std::map<std::string, std::pair<uint64_t, uint64_t>> counts(const FunctionTable& table) {
    std::map<std::string, std::pair<uint64_t, uint64_t>> all;
    for (const FunctionRow& row : table.rows) all[row.function] = {row.self_samples, row.total_samples};
    return all;
  }

  TemporaryFolder folder_;
  std::unique_ptr<TestRecorder> recorder_;
};

// One library after the other at the same addresses, and memory without a file after them. Names are stated at the end
// of the time of their file.
TEST_F(FunctionsTest, AddressHasTheMeaningOfItsTime) {
  const auto load = [&](const std::string& path) {
    recorder_->point(kMain, 0, PointKind::Instant, kModule, 0, {path, int64_t{0x1000}, int64_t{0x1000}, std::string()});
  };
  const auto name = [&](const std::string& function) {
    recorder_->point(kMain, 0, PointKind::Instant, kSymbol, 0, {int64_t{0x1100}, function});
  };
  node(kMain, 16, kComplete, 0x1100);
  sample(kMain, 10, 16);
  name("first");
  load("/gone/other.so");
  node(kMain, 17, kComplete, 0x1100);
  sample(kMain, 20, 17);
  sample(kMain, 21, 17);
  load("");
  node(kMain, 18, kComplete, 0x1100);
  sample(kMain, 30, 18);
  load("/gone/other.so");
  node(kMain, 19, kComplete, 0x1100);
  sample(kMain, 40, 19);
  name("again");
  Samples samples = read();
  const FunctionTable table = count_functions(samples);
  EXPECT_EQ(counts(table), (std::map<std::string, std::pair<uint64_t, uint64_t>>{
                               {"first", {1, 1}}, {"other.so+0x100", {2, 2}}, {"0x1100", {1, 1}}, {"again", {1, 1}}}));
}

TEST_F(FunctionsTest, SelfAndTotalOfAllThreads) {
  for (const uint32_t track : {kMain, kWorker}) {
    node(track, 16, kComplete, 0x1101);
    node(track, 17, 16, 0x1201);
    node(track, 18, 17, 0x1101);  // it calls itself
  }
  sample(kMain, 10, 16);
  sample(kMain, 20, 17);
  sample(kMain, 30, 18);
  sample(kWorker, 30, 17);
  Samples samples = read();
  EXPECT_EQ(samples.samples, 4u);
  const FunctionTable table = count_functions(samples);
  using Counts = std::map<std::string, std::pair<uint64_t, uint64_t>>;
  EXPECT_EQ(counts(table), (Counts{{"lib.so+0x101", {2, 4}}, {"lib.so+0x201", {2, 3}}}));
  EXPECT_EQ(table.samples, 4u);
  EXPECT_EQ(table.threads, 2u);
  EXPECT_EQ(table.incomplete, 0u);
  EXPECT_EQ(table.time_ns, 4'000'000u) << "a sample is a millisecond if the trace does not say more";
  EXPECT_EQ(table.rows[0].module, "/gone/lib.so");
}

TEST_F(FunctionsTest, IncompleteStacksAreCountedAndAreNoFunction) {
  node(kMain, 16, kNoTables, 0x1101);
  sample(kMain, 10, 16);
  sample(kMain, 20, 0);
  Samples samples = read();
  const FunctionTable table = count_functions(samples);
  using Counts = std::map<std::string, std::pair<uint64_t, uint64_t>>;
  EXPECT_EQ(counts(table), (Counts{{"lib.so+0x101", {1, 1}}, {"(unknown)", {1, 1}}}));
  EXPECT_EQ(table.incomplete, 2u);
}

TEST_F(FunctionsTest, FunctionsOfTheKernelHaveNames) {
  recorder_->point(kMain, 0, PointKind::Instant, kSymbol, 0, {kKernel, std::string("sys_read")});
  node(kMain, 16, kComplete, 0x1101);
  node(kMain, 17, 16, kKernel);
  node(kMain, 18, 16, kKernel + 64);
  sample(kMain, 10, 17);
  sample(kMain, 20, 18);
  Samples samples = read();
  using Counts = std::map<std::string, std::pair<uint64_t, uint64_t>>;
  EXPECT_EQ(counts(count_functions(samples)),
            (Counts{{"lib.so+0x101", {0, 2}}, {"sys_read", {1, 1}}, {"[kernel]", {1, 1}}}));
}

TEST_F(FunctionsTest, TimeOffTheCpuIsSummedUp) {
  node(kMain, 16, kComplete, 0x1101);
  sample(kMain, 10, 16);
  recorder_->point(kMain, 20, PointKind::Sample, kOffCpu, 0, {int64_t{100}, int64_t{1}});
  recorder_->point(kMain, 200, PointKind::Sample, kOffCpu, 0, {int64_t{50}, int64_t{0}});
  Samples samples = read();
  const FunctionTable table = count_functions(samples);
  EXPECT_EQ(table.off_ns, 150u);
  EXPECT_EQ(table.preempted_ns, 100u);
}

TEST_F(FunctionsTest, WaitsAreTimeAndPageFaultsAreCounted) {
  node(kMain, 16, kComplete, 0x1101);
  node(kMain, 17, 16, 0x1201);
  sample(kMain, 10, 16);
  recorder_->point(kMain, 20, PointKind::Sample, kWait, 0, {int64_t{100}, int64_t{0}, int64_t{17}});
  recorder_->point(kMain, 200, PointKind::Sample, kWait, 0, {int64_t{50}, int64_t{1}, int64_t{16}});
  recorder_->point(kMain, 300, PointKind::Sample, kOffCpu, 0, {int64_t{30}, int64_t{0}});  // its stack was lost
  recorder_->point(kMain, 400, PointKind::Sample, kPageFault, 0, {int64_t{0x5000}, int64_t{12}, int64_t{17}});
  read();
  const trace::Reader reader(folder_ / "run.kymo");
  Samples cpu = read_samples(reader), waits = read_samples(reader, What::Waits),
          faults = read_samples(reader, What::PageFaults);
  using Counts = std::map<std::string, std::pair<uint64_t, uint64_t>>;
  EXPECT_EQ(counts(count_functions(cpu)), (Counts{{"lib.so+0x101", {1, 1}}}));
  EXPECT_EQ(count_functions(cpu).off_ns, 180u);
  const FunctionTable by_wait = count_functions(waits);
  EXPECT_EQ(counts(by_wait), (Counts{{"lib.so+0x101", {1, 2}}, {"lib.so+0x201", {1, 1}}}));
  EXPECT_EQ(by_wait.time_ns, 150u);
  EXPECT_EQ(by_wait.rows[0].function, "lib.so+0x201");
  EXPECT_EQ(by_wait.rows[0].self_ns, 100u);
  EXPECT_EQ(by_wait.preempted_ns, 50u);
  const FunctionTable by_fault = count_functions(faults);
  EXPECT_EQ(by_fault.samples, 1u);
  EXPECT_EQ(by_fault.time_ns, 12u);
  EXPECT_EQ(by_fault.rows[0].self_ns, 12u);
}

TEST_F(FunctionsTest, NameInTheTraceIsForAFileThatIsGone) {
  node(kMain, 16, kComplete, 0x1101);
  node(kMain, 17, 16, 0x1201);
  recorder_->point(kMain, 5, PointKind::Instant, kSymbol, 0, {int64_t{0x1101}, std::string("main")});
  sample(kMain, 10, 17);
  Samples samples = read();
  const FunctionTable table = count_functions(samples);
  using Counts = std::map<std::string, std::pair<uint64_t, uint64_t>>;
  EXPECT_EQ(counts(table), (Counts{{"main", {0, 1}}, {"lib.so+0x201", {1, 1}}}));
  EXPECT_EQ(table.rows[1].module, "/gone/lib.so");
  EXPECT_THAT(table.missing_files, ElementsAre("/gone/lib.so"));
}

TEST_F(FunctionsTest, CpuTimeIsThatOfAllThreads) {
  node(kMain, 16, kComplete, 0x1101);
  sample(kMain, 10, 16);
  recorder_->point(kMain, 20, PointKind::Sample, kOnCpu, 0, {int64_t{1'200'000}});
  recorder_->point(kMain, 30, PointKind::Sample, kOnCpu, 0, {int64_t{300'000}});
  recorder_->point(kWorker, 30, PointKind::Sample, kOnCpu, 0, {int64_t{400'000}});  // too short for a sample
  recorder_->point(kWorker, 40, PointKind::Sample, kOffCpu, 0, {int64_t{70}, int64_t{0}});
  Samples samples = read();
  const FunctionTable table = count_functions(samples);
  EXPECT_EQ(table.time_ns, 1'000'000u);
  EXPECT_EQ(table.cpu_ns, 1'900'000u);
  EXPECT_EQ(table.off_ns, 70u) << "also of threads without samples";
  EXPECT_EQ(table.threads, 2u);
  EXPECT_EQ(count_functions(samples, "no such range").cpu_ns, 0u);
}

TEST_F(FunctionsTest, CpuTimeIsNotKnownIfItIsNotThatOfAllSampledThreads) {
  node(kMain, 16, kComplete, 0x1101);
  node(kWorker, 16, kComplete, 0x1101);
  sample(kMain, 10, 16);
  sample(kWorker, 10, 16);
  recorder_->point(kMain, 20, PointKind::Sample, kOnCpu, 0, {int64_t{1'200'000}});
  Samples samples = read();
  EXPECT_EQ(count_functions(samples).cpu_ns, 0u);
}

TEST_F(FunctionsTest, SampleBelongsToTheInnermostRangeOfItsThread) {
  node(kMain, 16, kComplete, 0x1101);
  node(kWorker, 16, kComplete, 0x1201);
  for (const uint64_t time : {50, 110, 150, 190, 250}) sample(kMain, time, 16);
  sample(kWorker, 150, 16);
  recorder_->close();
  recorder_.reset();
  TestRecorder ranges(folder_ / "run.kymo", 2, 100, trace::Writer::Mode::Append);
  ranges.add_class(1, "outer");
  ranges.add_class(2, "inner");
  ranges.add_thread(1, 100, "annotated");
  ranges.begin(1, 100, 1);
  ranges.begin(1, 140, 2);
  ranges.end(1, 160);
  ranges.end(1, 200);
  ranges.close();
  Samples samples = read();
  EXPECT_EQ(count_functions(samples).samples, 6u);
  EXPECT_EQ(count_functions(samples, "outer").samples, 2u);
  EXPECT_EQ(count_functions(samples, "inn*").samples, 1u);
  EXPECT_EQ(count_functions(samples, "none").samples, 0u);
  const views::Paths paths = paths_of_samples(samples);
  std::vector<std::string> names;
  for (const views::PathFrame& frame : paths.frames) names.emplace_back(frame.name);
  EXPECT_THAT(names, ElementsAre("all", "train (100)", "main", "inner", "lib.so+0x101", "lib.so+0x101", "outer",
                                 "lib.so+0x101", "worker", "lib.so+0x201"));
  EXPECT_EQ(paths.frames[0].total_ns, 6'000'000u);
}

TEST_F(FunctionsTest, TraceWithoutSamplesHasNone) {
  TestRecorder other(folder_ / "other.kymo");
  other.add_class(1, "sample", "another category", {{"node", FieldType::UInt}});
  other.close();
  const trace::Reader reader(folder_ / "other.kymo");
  EXPECT_FALSE(has_samples(reader));
  EXPECT_EQ(read_samples(reader).samples, 0u);
}

TEST_F(FunctionsTest, DamagedChunkIsAProblemAndTheRestIsRead) {
  node(kMain, 16, kComplete, 0x1101);
  sample(kMain, 10, 16);
  recorder_->cut(kMain);
  sample(kMain, 20, 16);
  recorder_->close();
  recorder_.reset();
  const trace::Reader whole(folder_ / "run.kymo");
  const uint64_t damage = whole.event_chunks().front().offset + whole.event_chunks().front().length - 16;
  std::fstream file(folder_ / "run.kymo", std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(damage));
  file.put('!');
  file.close();
  const Samples samples = read_samples(trace::Reader(folder_ / "run.kymo"));
  EXPECT_EQ(samples.samples, 1u);
  EXPECT_FALSE(samples.problems.empty());
}

}  // namespace
}  // namespace kymo::functions
