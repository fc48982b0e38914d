#include "analyze/functions/functions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <tuple>

#include "base/text.h"
#include "trace/test_recorder.h"

namespace kymo::functions {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using trace::FieldType;
using trace::PointKind;
using trace::testing::TemporaryFolder;
using trace::testing::TestRecorder;

enum SampleClass : uint32_t { kSample = 1, kOffCpu, kNode, kModule, kSymbol, kOnCpu, kWait };
constexpr uint32_t kMain = 1, kWorker = 2;
constexpr int64_t kComplete = 1, kNoTables = 2, kCopyTooShort = 5;
constexpr int64_t kKernel = INT64_MIN + 0x1000;  // as an address: in the upper half

class FunctionsTest : public ::testing::Test {
 protected:
  FunctionsTest() : recorder_(std::make_unique<TestRecorder>(folder_ / "run.kymo", 1)) {
    recorder_->add_class(kSample, "sample", "cpu", {{"node", FieldType::UInt}});
    recorder_->add_class(kOffCpu, "off CPU", "cpu", {{"ns", FieldType::UInt}, {"preempted", FieldType::Bool}});
    recorder_->add_class(kWait, "off CPU", "cpu",
                         {{"ns", FieldType::UInt}, {"preempted", FieldType::Bool}, {"node", FieldType::UInt}});
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
  // Of code: frames with an address in a file.
  void name_code(const trace::Module& module, const std::vector<trace::Frame>& frames) {
    recorder_->file().stacks(recorder_->id(), {&module, 1}, frames, {});
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

// One library after the other at the same addresses, and memory without a file after them.
TEST_F(FunctionsTest, AddressHasTheMeaningOfItsTime) {
  const auto load = [&](const std::string& path) {
    recorder_->point(kMain, 0, PointKind::Instant, kModule, 0, {path, int64_t{0x1000}, int64_t{0x1000}, std::string()});
  };
  node(kMain, 16, kComplete, 0x1100);
  sample(kMain, 10, 16);
  load("/gone/other.so");
  node(kMain, 17, kComplete, 0x1100);
  sample(kMain, 20, 17);
  sample(kMain, 21, 17);
  load("");
  node(kMain, 18, kComplete, 0x1100);
  sample(kMain, 30, 18);
  name_code({1, "/gone/lib.so", "01", 0, 0}, {{1, 1, 0x100, "first", "", 0}});
  name_code({2, "/gone/other.so", "", 0, 0}, {{2, 2, 0x100, "other", "", 0}});
  Samples samples = read();
  const FunctionTable table = count_functions(samples);
  EXPECT_EQ(counts(table), (std::map<std::string, std::pair<uint64_t, uint64_t>>{
                               {"first", {1, 1}}, {"other", {2, 2}}, {"0x1100", {1, 1}}}));
  EXPECT_THAT(table.missing_files, ElementsAre());
}

TEST_F(FunctionsTest, NamesInTheTraceHaveInlinedFunctionsAndLines) {
  node(kMain, 16, kComplete, 0x1101);
  sample(kMain, 10, 16);
  name_code({1, "/gone/lib.so", "01", 0, 0},
            {{1, 1, 0x101, "inner", "/src/a.h", 7}, {2, 1, 0x101, "outer", "/src/a.cc", 70}});
  name_code({2, "/gone/lib.so", "02", 0, 0}, {{3, 2, 0x101, "of another build", "", 0}});
  Samples samples = read();
  const std::vector<symbols::Frame> frames = samples.stacks->frames(samples.threads.at(0).stacks.at(0).stack);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0].function + " " + frames[0].file + ":" + std::to_string(frames[0].line), "inner /src/a.h:7");
  EXPECT_EQ(frames[1].function + " " + frames[1].file + ":" + std::to_string(frames[1].line), "outer /src/a.cc:70");
  EXPECT_TRUE(frames[0].inlined && !frames[1].inlined);
  EXPECT_EQ(frames[1].module, "/gone/lib.so");
}

TEST_F(FunctionsTest, LinesHaveTheTimeThatTheyRanAndWaited) {
  name_code({1, "/gone/lib.so", "01", 0, 0}, {{1, 1, 0x101, "inner", "/src/a.h", 7},
                                              {2, 1, 0x101, "outer", "/src/a.cc", 70},
                                              {3, 1, 0x111, "outer", "/src/a.cc", 71},
                                              {4, 1, 0x201, "main", "/src/a.cc", 90}});
  node(kMain, 16, kComplete, 0x1201);
  node(kMain, 17, 16, 0x1101);
  node(kMain, 18, 16, 0x1111);
  for (const int64_t one : {17, 17, 18}) sample(kMain, 10, one);
  recorder_->point(kMain, 20, PointKind::Sample, kWait, 0, {int64_t{5'000'000}, int64_t{0}, int64_t{18}});
  recorder_->point(kMain, 30, PointKind::Sample, kWait, 0, {int64_t{9'000'000}, int64_t{1}, int64_t{17}});  // preempted
  Samples samples = read(), waits = read_samples(trace::Reader(folder_ / "run.kymo"), What::Waits);
  FunctionTable lines = count_lines(samples);
  add_waits(lines, count_lines(waits));
  std::vector<std::string> rows;
  for (const FunctionRow& row : lines.rows)
    rows.push_back(base::format("{} {}:{} {} {} {}", row.function, row.file, row.line, row.self_ns / 1'000'000,
                                row.total_ns / 1'000'000, row.waiting_ns / 1'000'000));
  EXPECT_THAT(rows, ElementsAre("outer /src/a.cc:71 1 1 5", "inner /src/a.h:7 2 2 0", "main /src/a.cc:90 0 3 0",
                                "outer /src/a.cc:70 0 2 0"));
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

TEST_F(FunctionsTest, StackLongerThanItsCopyIsCounted) {
  node(kMain, 16, kNoTables, 0x1101);
  node(kMain, 17, kCopyTooShort, 0x1101);
  sample(kMain, 10, 16);
  sample(kMain, 20, 17);
  sample(kMain, 30, 17);
  Samples samples = read();
  const FunctionTable table = count_functions(samples);
  EXPECT_EQ(table.incomplete, 3u);
  EXPECT_EQ(table.longer_than_copy, 2u);
  const views::Paths paths = paths_of_samples(samples);
  EXPECT_TRUE(std::ranges::any_of(paths.frames, [](const views::PathFrame& frame) {
    return frame.name == "(the stack is longer than its copy)" && frame.total_ns == 2'000'000;
  }));
}

TEST_F(FunctionsTest, StackThatEndsInAFunctionThatNobodyCallsIsComplete) {
  const char* const names[] = {"_start", "_dl_start_user", "clone3", "runtime.goexit", "_started"};
  for (int64_t i = 0; i < 5; ++i) {
    recorder_->point(kMain, 0, PointKind::Instant, kSymbol, 0, {0x1100 + i, std::string(names[i])});
    node(kMain, 16 + i, kNoTables, 0x1100 + i);
    sample(kMain, 10, 16 + i);
  }
  Samples samples = read();
  EXPECT_EQ(count_functions(samples).incomplete, 1u);
}

TEST_F(FunctionsTest, CodeOfARuntimeIsOneRow) {
  TestRecorder node(folder_ / "node.kymo", 1, 100, trace::Writer::Mode::Create, 0, "/usr/bin/node");
  node.add_class(kSample, "sample", "cpu", {{"node", FieldType::UInt}});
  node.add_class(kNode, "stack node", "kymo.stack",
                 {{"node", FieldType::UInt}, {"parent", FieldType::UInt}, {"address", FieldType::Pointer}});
  node.add_class(kSymbol, "symbol", "kymo.stack", {{"address", FieldType::Pointer}, {"name", FieldType::String}});
  node.add_thread(kMain, 100, "main");
  node.point(kMain, 0, PointKind::Instant, kSymbol, 0, {int64_t{0x9003}, std::string("named")});
  for (int64_t i = 0; i < 4; ++i) {
    node.point(kMain, 0, PointKind::Instant, kNode, 0, {16 + i, kComplete, 0x9000 + i});
    node.point(kMain, 10, PointKind::Sample, kSample, 0, {16 + i});
  }
  node.close();
  Samples samples = read_samples(trace::Reader(folder_ / "node.kymo"));
  using Counts = std::map<std::string, std::pair<uint64_t, uint64_t>>;
  EXPECT_EQ(counts(count_functions(samples)), (Counts{{"(code of node)", {3, 3}}, {"named", {1, 1}}}));
}

TEST_F(FunctionsTest, TreeShowsWhoCalledWhom) {
  const std::pair<int64_t, const char*> names[] = {
      {0x1101, "main"}, {0x1201, "int work::step<int>(int)"}, {0x1301, "work::leaf(double) const"}};
  for (const auto& [address, name] : names)
    recorder_->point(kMain, 0, PointKind::Instant, kSymbol, 0, {address, std::string(name)});
  node(kMain, 16, kComplete, 0x1101);  // main
  node(kMain, 17, 16, 0x1201);         // main, step
  node(kMain, 18, 17, 0x1301);         // main, step, leaf
  node(kMain, 19, 18, 0x1201);         // main, step, leaf, step
  node(kMain, 20, 16, 0x1301);         // main, leaf
  for (const int64_t one : {16, 17, 17, 18, 19, 19, 19, 20}) sample(kMain, 10, one);
  Samples samples = read();
  using Shape = CallTree::Shape;
  const auto rows = [&](Shape shape, const std::string& function) {
    std::vector<std::string> all;
    for (const CallTree::Row& row : call_tree(samples, {shape, function}).rows)
      all.push_back(std::string(row.depth, ' ') + row.function.substr(0, 14) + " " + std::to_string(row.samples) + " " +
                    std::to_string(row.self_ns / 1'000'000));
    return all;
  };
  EXPECT_THAT(rows(Shape::All, ""), ElementsAre("main 8 1", " int work::step 6 2", "  work::leaf(dou 4 1",
                                                "   int work::step 3 3", " work::leaf(dou 1 1"));
  for (const char* const name : {"work::leaf(double) const", "work::leaf", "leaf", "*lea?"}) {
    EXPECT_THAT(rows(Shape::Callees, name), ElementsAre("work::leaf(dou 5 2", " int work::step 3 3")) << name;
    EXPECT_THAT(rows(Shape::Callers, name),
                ElementsAre("work::leaf(dou 5 0", " int work::step 4 0", "  main 4 4", " main 1 1"))
        << name;
  }
  EXPECT_THAT(rows(Shape::Callees, "step<int>"),
              ElementsAre("int work::step 6 2", " work::leaf(dou 4 1", "  int work::step 3 3"));
  EXPECT_THAT(rows(Shape::Callers, "no such function"), ElementsAre());
  const CallTree tree = call_tree(samples, {});
  EXPECT_EQ(tree.samples, 8u);
  for (size_t i = 0; i < tree.rows.size(); ++i) {
    EXPECT_LE(tree.rows[i].parent, i);
    EXPECT_EQ(tree.rows[tree.rows[i].parent].depth + (i == tree.rows[i].parent ? 0 : 1), tree.rows[i].depth);
  }
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

TEST_F(FunctionsTest, TimeUntilAThreadRanAgainIsNoWait) {
  node(kMain, 16, kComplete, 0x1101);
  recorder_->point(kMain, 20, PointKind::Sample, kWait, 0, {int64_t{100}, int64_t{0}, int64_t{16}});
  recorder_->point(kMain, 120, PointKind::Sample, kWait, 0, {int64_t{5}, int64_t{1}, int64_t{16}});
  recorder_->point(kMain, 200, PointKind::Sample, kWait, 0, {int64_t{50}, int64_t{0}, int64_t{16}});
  read();
  Samples waits = read_samples(trace::Reader(folder_ / "run.kymo"), What::Waits);
  const FunctionTable by_wait = count_functions(waits);
  EXPECT_EQ(by_wait.samples, 2u);
  EXPECT_EQ(by_wait.time_ns, 150u);
}

TEST_F(FunctionsTest, WaitRightAfterReadyTimeIsCountedAndItsSecondPartIsNot) {
  node(kMain, 16, kComplete, 0x1101);
  recorder_->point(kMain, 20, PointKind::Sample, kOffCpu, 0, {int64_t{100}, int64_t{1}});
  recorder_->point(kMain, 120, PointKind::Sample, kWait, 0, {int64_t{50}, int64_t{0}, int64_t{16}});
  recorder_->point(kMain, 170, PointKind::Sample, kWait, 0, {int64_t{10}, int64_t{0}, int64_t{16}});
  read();
  Samples waits = read_samples(trace::Reader(folder_ / "run.kymo"), What::Waits);
  const FunctionTable by_wait = count_functions(waits);
  EXPECT_EQ(by_wait.samples, 1u);
  EXPECT_EQ(by_wait.time_ns, 60u);
}

TEST(OwnFunctionTest, WaitInAThreadWithAnInlinedFunctionBelongsToItsFunctionObject) {
  const std::string begin = "std::thread::_State_impl<std::thread::_Invoker<std::tuple<", end = " > > >::_M_run";
  const auto own = [&](const std::string& object, const std::string& module = "/bin/program") {
    std::vector<symbols::Frame> frames(4);
    frames[0].function = "__GI___lll_lock_wait";
    frames[1].function = "std::mutex::lock";
    frames[2].function = begin + object + end;
    frames[3].function = "start_thread";
    frames[0].module = frames[3].module = "/lib/libc.so.6";
    frames[1].module = frames[2].module = module;
    return own_function(frames);
  };
  EXPECT_EQ(own("main::{lambda()#1}"), "main::{lambda()#1}::operator()");
  EXPECT_EQ(own("main()::<lambda()>"), "main()::<lambda()>::operator()");
  EXPECT_EQ(own("work::Task<int>, std::vector<int>, char"), "work::Task<int>::operator()");
  EXPECT_EQ(own("void (*)(int), int"), begin + "void (*)(int), int" + end) << "a function has no name there";
  EXPECT_EQ(own("", "/bin/program"), begin + end);
  EXPECT_EQ(own("main::{lambda()#1}", "/lib/libstdc++.so.6"), "__GI___lll_lock_wait");
}

TEST(OwnFunctionTest, CodeWithoutANameBelongsToTheNamedFunctionThatCallsIt) {
  std::vector<symbols::Frame> frames(3);
  frames[0].function = "libcrypto.so.3+0x29e340";
  frames[0].module = "/lib/libcrypto.so.3";
  frames[1].function = "parse";
  frames[1].module = "/home/a/run.py";
  frames[2].function = "main";
  frames[2].module = "/bin/program";
  EXPECT_EQ(own_function(frames), "parse");
  frames.resize(1);
  EXPECT_EQ(own_function(frames), "libcrypto.so.3+0x29e340");
}

TEST_F(FunctionsTest, WaitsAreTime) {
  node(kMain, 16, kComplete, 0x1101);
  node(kMain, 17, 16, 0x1201);
  sample(kMain, 10, 16);
  recorder_->point(kMain, 20, PointKind::Sample, kWait, 0, {int64_t{100}, int64_t{0}, int64_t{17}});
  recorder_->point(kMain, 200, PointKind::Sample, kWait, 0, {int64_t{50}, int64_t{1}, int64_t{16}});
  recorder_->point(kMain, 300, PointKind::Sample, kOffCpu, 0, {int64_t{30}, int64_t{0}});  // its stack was lost
  read();
  const trace::Reader reader(folder_ / "run.kymo");
  Samples cpu = read_samples(reader), waits = read_samples(reader, What::Waits);
  using Counts = std::map<std::string, std::pair<uint64_t, uint64_t>>;
  EXPECT_EQ(counts(count_functions(cpu)), (Counts{{"lib.so+0x101", {1, 1}}}));
  EXPECT_EQ(count_functions(cpu).off_ns, 180u);
  const FunctionTable by_wait = count_functions(waits);
  EXPECT_EQ(counts(by_wait), (Counts{{"lib.so+0x101", {0, 1}}, {"lib.so+0x201", {1, 1}}, {"(no stack)", {1, 1}}}));
  EXPECT_EQ(by_wait.time_ns, by_wait.off_ns - by_wait.preempted_ns);
  EXPECT_EQ(by_wait.time_ns, 130u);
  EXPECT_EQ(by_wait.samples, 2u);
  EXPECT_EQ(by_wait.without_stack, 1u);
  EXPECT_EQ(by_wait.rows[0].function, "lib.so+0x201");
  EXPECT_EQ(by_wait.rows[0].self_ns, 100u);
  EXPECT_EQ(by_wait.preempted_ns, 50u);
}

TEST_F(FunctionsTest, WaitBelongsToTheInnermostFunctionOfTheProgram) {
  const auto load = [&](const std::string& path, int64_t base) {
    recorder_->point(kMain, 0, PointKind::Instant, kModule, 0, {path, base, int64_t{0x1000}, std::string()});
  };
  const auto name = [&](int64_t address, const std::string& function) {
    recorder_->point(kMain, 0, PointKind::Instant, kSymbol, 0, {address, function});
  };
  load("/gone/libc.so.6", 0x3000);
  load("/gone/libstdc++.so.6", 0x4000);
  name(0x1101, "main");
  name(0x1201, "read@plt");
  name(kKernel, "do_nanosleep");
  node(kMain, 16, kComplete, 0x1101);
  node(kMain, 17, 16, 0x4101);  // the library of C++
  node(kMain, 18, 17, 0x3101);  // the library of C
  node(kMain, 19, 18, kKernel);
  node(kMain, 20, 16, 0x1201);  // the stub of read
  node(kMain, 21, kComplete, kKernel);
  for (const int64_t last : {18, 19, 20, 21})
    recorder_->point(kMain, 20, PointKind::Sample, kWait, 0, {int64_t{100}, int64_t{0}, last});
  read();
  const trace::Reader reader(folder_ / "run.kymo");
  Samples waits = read_samples(reader, What::Waits);
  using Counts = std::map<std::string, std::pair<uint64_t, uint64_t>>;
  EXPECT_EQ(counts(count_functions(waits)), (Counts{{"main", {3, 3}}, {"do_nanosleep", {1, 1}}}));
  const views::Paths paths = paths_of_samples(waits);
  EXPECT_TRUE(std::ranges::any_of(paths.frames, [](const auto& frame) { return frame.name == "read@plt"; }))
      << "a flame graph shows all";
}

TEST_F(FunctionsTest, WaitsAreNotCountedIfNoStacksOfThemWereRecorded) {
  node(kMain, 16, kComplete, 0x1101);
  sample(kMain, 10, 16);
  recorder_->point(kMain, 20, PointKind::Sample, kOffCpu, 0, {int64_t{100}, int64_t{0}});
  read();
  Samples waits = read_samples(trace::Reader(folder_ / "run.kymo"), What::Waits);
  EXPECT_EQ(waits.samples, 0u);
  EXPECT_TRUE(count_functions(waits).rows.empty());
  EXPECT_EQ(count_functions(waits).off_ns, 100u);
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
}

TEST_F(FunctionsTest, FunctionsAreNotLongerThanTheirThreadUsedTheCpu) {
  node(kMain, 16, kComplete, 0x1101);
  node(kMain, 17, kComplete, 0x1201);
  for (int i = 0; i < 20; ++i) sample(kMain, 10, i % 4 == 0 ? 17 : 16);
  recorder_->point(kMain, 20, PointKind::Sample, kOnCpu, 0, {int64_t{19'000'000}});
  Samples samples = read();
  const FunctionTable table = count_functions(samples);
  EXPECT_EQ(table.samples, 20u);
  EXPECT_LE(table.time_ns, table.cpu_ns);
  EXPECT_GE(table.time_ns + 10, table.cpu_ns);
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_NEAR(static_cast<double>(table.rows[0].self_ns), 14'250'000, 10);
}

TEST_F(FunctionsTest, ThreadThatRunsAnotherProgramIsOneThread) {
  node(kMain, 16, kComplete, 0x1101);
  sample(kMain, 10, 16);
  recorder_->close();
  recorder_.reset();
  TestRecorder other(folder_ / "run.kymo", 2, 100, trace::Writer::Mode::Append);
  other.add_class(kSample, "sample", "cpu", {{"node", FieldType::UInt}});
  other.add_thread(kMain, 100, "main");
  other.point(kMain, 20, PointKind::Sample, kSample, 0, {int64_t{1}});
  other.close();
  Samples samples = read();
  const FunctionTable table = count_functions(samples);
  EXPECT_EQ(table.samples, 2u);
  EXPECT_EQ(table.threads, 1u);
}

TEST_F(FunctionsTest, LostCpuTimeIsAPartOfTheTotal) {
  // The worker has a sample, and its times are lost.
  for (const auto& [is_counted, has_worker, cpu_ns] :
       {std::tuple(true, false, 5'000'000u), {false, false, 2'000'000u}, {true, true, 5'000'000u}, {false, true, 0u}}) {
    const std::string file = folder_ / "lost.kymo";
    std::filesystem::remove(file);
    using Metadata = std::vector<std::pair<std::string, std::string>>;
    TestRecorder recorder(file, 1, 100, trace::Writer::Mode::Create, 0, "/usr/bin/train",
                          is_counted ? Metadata{{"CPU time of all", "0.005000 s"}} : Metadata());
    recorder.add_class(kSample, "sample", "cpu", {{"node", FieldType::UInt}});
    recorder.add_class(kOnCpu, "on CPU", "cpu", {{"ns", FieldType::UInt}});
    recorder.add_thread(kMain, 100, "main");
    recorder.point(kMain, 1'000'000, PointKind::Sample, kSample, 0, {int64_t{1}});
    recorder.point(kMain, 1'000'000, PointKind::Sample, kOnCpu, 0, {int64_t{1'000'000}});
    recorder.point(kMain, 10'000'000, PointKind::Sample, kOnCpu, 0, {int64_t{1'000'000}});
    if (has_worker) recorder.add_thread(kWorker, 101, "worker");
    if (has_worker) recorder.point(kWorker, 1'000'000, PointKind::Sample, kSample, 0, {int64_t{1}});
    trace::Loss loss;
    loss.cause = trace::LossCause::Reported;
    loss.count = 7;
    recorder.file().losses(recorder.id(), {&loss, 1});
    recorder.close();
    Samples samples = read_samples(trace::Reader(file));
    const FunctionTable table = count_functions(samples);
    EXPECT_EQ(table.cpu_ns, cpu_ns) << is_counted << has_worker;
    EXPECT_EQ(table.lost_cpu_ns, is_counted ? 3'000'000u : 0u);
    EXPECT_EQ(table.unknown_ns, is_counted ? 0u : 8'000'000u);
  }
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
  const views::Paths paths = paths_of_samples(samples);
  std::vector<std::string> names;
  for (const views::PathFrame& frame : paths.frames) names.emplace_back(frame.name);
  EXPECT_THAT(names, ElementsAre("all", "train (100)", "main", "inner", "lib.so+0x101", "lib.so+0x101", "outer",
                                 "lib.so+0x101", "worker", "lib.so+0x201"));
  EXPECT_EQ(paths.frames[0].total_ns, 6'000'000u);
}

TEST_F(FunctionsTest, SamplesInRangesWithANameAreAtAnyDepth) {
  node(kMain, 16, kComplete, 0x1101);
  node(kWorker, 16, kComplete, 0x1201);
  for (const uint64_t time : {50, 110, 150, 190, 250, 350}) sample(kMain, time, 16);
  recorder_->point(kMain, 120, PointKind::Sample, kOffCpu, 0, {int64_t{30}, int64_t{0}});
  recorder_->point(kMain, 200, PointKind::Sample, kOffCpu, 0, {int64_t{50}, int64_t{0}});
  recorder_->point(kMain, 400, PointKind::Sample, kOnCpu, 0, {int64_t{6'000'000}});
  sample(kWorker, 150, 16);
  recorder_->close();
  recorder_.reset();
  TestRecorder ranges(folder_ / "run.kymo", 2, 100, trace::Writer::Mode::Append);
  ranges.add_class(1, "outer {}", "", {{"", FieldType::Int}});
  ranges.add_class(2, "inner");
  ranges.add_thread(1, 100, "annotated");
  ranges.begin(1, 100, 1, {int64_t{3}});
  ranges.begin(1, 140, 2);
  ranges.end(1, 160);
  ranges.end(1, 200);
  ranges.begin(1, 300, 1, {int64_t{4}});
  ranges.end(1, 400);
  ranges.begin(1, 500, 1, {int64_t{5}});
  ranges.end(1, 600);
  ranges.close();
  const std::map<std::string, uint64_t> counts = {{"outer*", 4},  {"outer {}", 4}, {"outer 3", 3}, {"outer 4", 1},
                                                  {"outer ?", 4}, {"inn*", 1},     {"outer 5", 0}, {"*", 4}};
  const trace::Reader reader(folder_ / "run.kymo");
  for (const auto& [name, count] : counts) {
    Samples samples = read_samples(reader, What::Cpu, name);
    const FunctionTable table = count_functions(samples);
    EXPECT_EQ(table.samples, count) << name;
    EXPECT_EQ(table.threads, count != 0 ? 1u : 0u) << name;
    EXPECT_EQ(table.off_ns, count == 0 || name == "outer 4" ? 0u : name == "inn*" ? 10u : 30u) << name;
    EXPECT_EQ(table.cpu_ns, 0u) << "that of the ranges is not known";
    EXPECT_TRUE(samples.has_part) << name;
  }
  for (const char* const name : {"outer", "outer 6", "inner 3"}) {
    const Samples samples = read_samples(reader, What::Cpu, name);
    EXPECT_FALSE(samples.has_part) << name;
    EXPECT_EQ(samples.samples, 0u) << name;
  }
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
