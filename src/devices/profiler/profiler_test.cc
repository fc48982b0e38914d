// The profiler on every device: what it reports about real work.
#include "kymo/profiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <stdexcept>

#include "device/test_device.h"
#include "profiler/test_signposts.h"

namespace kymo::profiler {
namespace {

using namespace kymo::device;
using device::tests::device_names;
using device::tests::kScale;
using device::tests::OnEveryDevice;
using device::tests::test_name;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::SizeIs;
using tests::CollectingSink;
using tests::printed_by;
using tests::ReceivedSignpost;
using Which = tests::ReceivedSignpost::Which;

class ProfilerTest : public OnEveryDevice {
 protected:
  void SetUp() override {
    OnEveryDevice::SetUp();
    if (!IsSkipped()) tests::turn_everything_off();
  }
  void TearDown() override {
    if (GetParam() != "none") tests::turn_everything_off();
    OnEveryDevice::TearDown();
  }

  static const profiler::OperationStatistics& operation(const profiler::Statistics& all, std::string_view name) {
    static const profiler::OperationStatistics kNone;
    for (const auto& one : all.operations)
      if (one.name.starts_with(name)) return one;
    return kNone;
  }
};
KYMO_ON_EVERY_DEVICE(ProfilerTest);

TEST_P(ProfilerTest, IntervalHasABeginAndAnEndForEachExecution) {
  const Kernel scale = compile(kScale)["scale"];
  const CollectingSink sink(false);
  {
    const profiler::Profile watch("interval");
    EXPECT_TRUE(profiler::is_running());
    const Tensor x = full({16}, 1);
    for (int i = 0; i < 3; ++i) scale(x, 2.0);
    EXPECT_EQ(x.to_host<float>()[0], 8);
  }
  EXPECT_FALSE(profiler::is_running());
  profiler::statistics();

  const auto begins = sink.all(KYMO_SIGNPOST_KERNEL, Which::Begin), ends = sink.all(KYMO_SIGNPOST_KERNEL, Which::End);
  ASSERT_EQ(begins.size(), 4u);
  ASSERT_EQ(ends.size(), 4u);
  EXPECT_EQ(begins[0].name, "fill");
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(begins[i].execution, ends[i].execution);
    EXPECT_EQ(begins[i].start_ns, 0u);
    EXPECT_NE(ends[i].id, 0u);
    EXPECT_GT(ends[i].start_ns, 0u);
    EXPECT_GE(ends[i].end_ns, ends[i].start_ns);
    EXPECT_EQ(ends[i].message, "");
  }
  for (size_t i = 1; i < 4; ++i) {
    EXPECT_EQ(ends[i].name, "scale");
    EXPECT_EQ(ends[i].id, ends[1].id);
    EXPECT_EQ(ends[i].run, ends[1].run + i - 1);
  }
  const auto copies = sink.all(KYMO_SIGNPOST_COPY);
  ASSERT_EQ(copies.size(), 2u);
  EXPECT_EQ(copies[0].name, "copy device to host");
  EXPECT_THAT(sink.all(0, Which::Event), IsEmpty());
}

TEST_P(ProfilerTest, EventIsSentAfterTheExecution) {
  const CollectingSink sink(false);
  const Tensor x = zeros({4});
  profiler::start("event");
  x.clone();
  profiler::stop();
  x.clone();
  profiler::statistics();
  EXPECT_THAT(sink.all(KYMO_SIGNPOST_COPY, Which::Event), SizeIs(1));
  EXPECT_THAT(sink.all(), SizeIs(1));
}

TEST_P(ProfilerTest, OperationQueuedBeforeStartHasNoEnd) {
  const CollectingSink sink(false);
  const Tensor x = zeros({4});
  profiler::set_log("copy-statistics");
  x.clone();
  profiler::start("interval,event");
  profiler::statistics();
  profiler::stop();
  EXPECT_THAT(sink.all(), IsEmpty());
}

TEST_P(ProfilerTest, MessagesNameTheOperationAndItsTensors) {
  const CollectingSink sink(true);
  const Kernel scale = compile(kScale)["scale"];
  const profiler::Profile watch("interval");
  const Tensor x = zeros({4, 4});
  const std::vector<float> ones(16, 1);
  profiler::statistics();
  Tensor(x).copy_from(std::span<const float>(ones));
  scale(x, 2.0);
  profiler::statistics();

  const std::string tensor = GetParam() + ":f32\\[4, 4\\]";
  const auto kernels = sink.all(KYMO_SIGNPOST_KERNEL), copies = sink.all(KYMO_SIGNPOST_COPY);
  ASSERT_EQ(kernels.size(), 4u);
  EXPECT_THAT(kernels[0].message, MatchesRegex("fill:" + tensor + " \\(id=K[0-9]+, run=[0-9]+\\)"));
  EXPECT_THAT(kernels[2].message, MatchesRegex("scale:" + tensor + " \\(id=K[0-9]+, run=[0-9]+\\)"));
  EXPECT_THAT(kernels[3].message,
              MatchesRegex("scale:" + tensor + " \\(id=K[0-9]+, run=[0-9]+(, gpu=[0-9.]+ ms)?, cpu=[0-9.]+ ms\\)"));
  ASSERT_EQ(copies.size(), 2u);
  EXPECT_THAT(copies[1].message, MatchesRegex("BlitCopy(Sync)?: host:0x[0-9a-f]+ --> " + tensor +
                                              " \\(len=64 B(, gpu=[0-9.]+ ms)?, cpu=[0-9.]+ ms\\)"));
}

TEST_P(ProfilerTest, LinesOfTheLogCanNameBuffers) {
  const Tensor x = zeros({4});
  const Tensor shared = x;
  const std::string lines = printed_by([&] {
    profiler::set_log("copies,buffers");
    x.clone();
    profiler::set_log("0");
  });
  EXPECT_THAT(lines, MatchesRegex("BlitCopy: " + GetParam() + "\\(buf#[0-9]+:2\\):f32\\[4\\] --> " + GetParam() +
                                  "\\(buf#[0-9]+:1\\):f32\\[4\\] \\(len=16 B\\)\n"));
}

TEST_P(ProfilerTest, OnlyTheKindsInTheMaskAreReported) {
  const CollectingSink sink(false);
  profiler::set_signposts("copies,intervals,events");
  zeros({4}).clone();
  profiler::set_signposts("0");
  profiler::statistics();
  EXPECT_THAT(sink.all(), SizeIs(3));
  EXPECT_THAT(sink.all(KYMO_SIGNPOST_COPY), SizeIs(3));
}

TEST_P(ProfilerTest, WaitOptionWaitsForEachOperation) {
  const Kernel scale = compile(kScale)["scale"];
  const Tensor x = zeros({1 << 16});
  const CollectingSink sink(false);
  const profiler::Profile watch("interval", true);
  for (uint64_t i = 0; i < 3; ++i) {
    scale(x, 2.0);
    EXPECT_TRUE(current_stream().query());
    EXPECT_THAT(sink.all(KYMO_SIGNPOST_KERNEL, Which::End), SizeIs(i + 1));
  }
}

TEST_P(ProfilerTest, StatisticsCountExecutions) {
  const ShaderLibrary library = compile(kScale);
  profiler::start("event");
  Tensor x = zeros({256});
  for (int i = 0; i < 10; ++i) library["scale"](x, 2.0);
  const std::vector<float> ones(256, 1), one(1, 1);
  x.copy_from(std::span<const float>(ones));
  x.slice(0, 0, 1).copy_from(std::span<const float>(one));
  x.to_host<float>();
  profiler::stop();
  library["scale"](x, 2.0);

  const profiler::Statistics all = profiler::statistics();
  const auto& scale = operation(all, "scale");
  EXPECT_EQ(scale.name, "scale:" + GetParam() + ":f32[256]");
  EXPECT_THAT(scale.id, MatchesRegex("K[0-9]+"));
  EXPECT_EQ(scale.runs, 10u);
  EXPECT_GT(scale.total_gpu_ms, 0);
  EXPECT_GT(scale.total_call_ms, 0);
  EXPECT_EQ(operation(all, "fill").runs, 1u);
  ASSERT_EQ(all.copies.size(), 2u);
  EXPECT_EQ(all.copies[0].kind, "host to device");
  EXPECT_EQ(all.copies[0].count, 2u);
  EXPECT_EQ(all.copies[0].bytes, 1028u);
  EXPECT_EQ(all.copies[0].scalars, 1u);
  EXPECT_EQ(all.copies[1].kind, "device to host");
  EXPECT_EQ(all.copies[1].count, 1u);
  EXPECT_EQ(all.copies[1].blocking, 1u);
  EXPECT_EQ(all.lost, 0u);
  EXPECT_THAT(profiler::statistics_text(), HasSubstr("  scale:" + GetParam() + ":f32[256]\n"));

  profiler::reset_statistics();
  EXPECT_THAT(profiler::statistics().operations, IsEmpty());
}

TEST_P(ProfilerTest, KernelKeepsItsIdAndARecompiledKernelIsAnother) {
  const Tensor x = zeros({4});
  profiler::start();
  const ShaderLibrary one = compile(kScale);
  const ShaderLibrary two = compile_shader(text(kScale) + "\n// another\n");
  one["scale"](x, 1.0);
  two["scale"](x, 1.0);
  one["scale"](x, 1.0);
  std::vector<uint64_t> runs;
  for (const auto& kernel : profiler::statistics().operations) runs.push_back(kernel.runs);
  EXPECT_THAT(runs, ::testing::UnorderedElementsAre(1, 2));
}

TEST_P(ProfilerTest, NamedOperationLastsFromItsFirstKernelToItsLast) {
  const Kernel scale = compile(kScale)["scale"];
  const Tensor x = zeros({256});
  const CollectingSink sink(true);
  profiler::start("interval,event");
  for (int run = 0; run < 2; ++run) {
    const profiler::Operation outer("convolution", {&x}, 1e6);
    scale(x, 2.0);
    {
      const profiler::Operation inner("pad");
      scale(x, 2.0);
    }
    scale(x, 2.0);
  }
  profiler::stop();
  const profiler::Statistics all = profiler::statistics();
  const auto& outer = operation(all, "convolution");
  EXPECT_EQ(outer.name, "convolution:" + GetParam() + ":f32[256]");
  EXPECT_THAT(outer.id, MatchesRegex("G[0-9]+"));
  EXPECT_EQ(outer.runs, 2u);
  EXPECT_EQ(outer.flops, 2e6);
  EXPECT_EQ(operation(all, "pad").runs, 2u);
  EXPECT_EQ(operation(all, "scale").runs, 6u);

  const auto ends = sink.all(KYMO_SIGNPOST_OPERATION, Which::End), kernels = sink.all(KYMO_SIGNPOST_KERNEL, Which::End);
  ASSERT_EQ(ends.size(), 4u);
  ASSERT_EQ(kernels.size(), 6u);
  EXPECT_THAT(sink.all(KYMO_SIGNPOST_OPERATION, Which::Event), SizeIs(4));
  std::map<std::pair<std::string, uint64_t>, ReceivedSignpost> by_run;
  for (const ReceivedSignpost& end : ends) by_run[{end.name, end.run % 2}] = end;
  EXPECT_THAT(by_run, SizeIs(4));
  EXPECT_EQ(ends.back().name, "convolution");
  EXPECT_EQ(ends.back().start_ns, kernels[3].start_ns);
  EXPECT_EQ(ends.back().end_ns, kernels[5].end_ns);
  EXPECT_THAT(ends.back().message,
              MatchesRegex("convolution:" + GetParam() + ":f32\\[256\\] \\(id=G[0-9]+, run=.*\\)"));
}

TEST_P(ProfilerTest, NamedOperationCountsOneStream) {
  const Kernel scale = compile(kScale)["scale"];
  const Tensor x = zeros({4});
  const CollectingSink sink(false);
  const Stream side;
  synchronize();
  profiler::start();
  {
    const profiler::Operation both("both");
    scale(x, 1.0);
    synchronize();
    scale.on(side)(x, 1.0);
  }
  { const profiler::Operation nothing("nothing"); }
  profiler::stop();
  const profiler::Statistics all = profiler::statistics();
  EXPECT_EQ(operation(all, "nothing").runs, 1u);
  EXPECT_EQ(operation(all, "nothing").total_gpu_ms, 0);
  const auto kernels = sink.all(KYMO_SIGNPOST_KERNEL, Which::End);
  const auto ends = sink.all(KYMO_SIGNPOST_OPERATION, Which::End);
  ASSERT_EQ(kernels.size(), 2u);
  ASSERT_EQ(ends.size(), 2u);
  const ReceivedSignpost& end = ends[0].name == "both" ? ends[0] : ends[1];
  EXPECT_EQ(end.end_ns - end.start_ns, kernels[0].end_ns - kernels[0].start_ns);
}

TEST_P(ProfilerTest, ExceptionEndsAGuardAndTheScopesInIt) {
  const Tensor x = zeros({4});
  try {
    const profiler::Profile watch;
    const profiler::Operation operation("thrown", {&x});
    const profiler::HostFallback fallback("thrown");
    x.clone();
    throw std::runtime_error("the program's own");
  } catch (const std::runtime_error&) {
  }
  EXPECT_FALSE(profiler::is_running());
  const profiler::Statistics all = profiler::statistics();
  EXPECT_EQ(operation(all, "thrown").runs, 1u);
  ASSERT_EQ(all.fallbacks.size(), 1u);
  x.clone();
  EXPECT_EQ(profiler::statistics().copies[0].count, 1u);
}

TEST_P(ProfilerTest, RefusedKernelLeavesNothingOpen) {
  const Kernel scale = compile(kScale)["scale"];
  const CollectingSink sink(false);
  const profiler::Profile watch;
  EXPECT_THROW(scale(1.0, 1.0), InvalidArgument);
  profiler::statistics();
  EXPECT_THAT(sink.all(), IsEmpty());
}

}  // namespace
}  // namespace kymo::profiler
