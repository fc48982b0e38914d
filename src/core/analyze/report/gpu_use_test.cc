#include "analyze/report/gpu_use.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/test_recorder.h"

namespace kymo::analyze {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using trace::testing::kMonotonicZero;
using trace::testing::TemporaryFolder;
using trace::testing::TestRecorder;

constexpr uint64_t kInterval = 1'000'000;
constexpr uint32_t kStream = 1, kSecondStream = 2, kCounters = 1, kSensors = 2;
enum Class : uint32_t { kCopyKernel = 1, kProduct, kTiny, kMemcpy };
enum Counter : uint32_t {
  kActiveId = 1,
  kReadId,
  kWrittenId,
  kInstructionsId,
  kClockId = 1000,
  kReasonsId,
  kEnergyId,
  kErrorsId
};

// A program with two streams on a GPU, and the counters of this GPU. Times are in microseconds.
class GpuUseTest : public ::testing::Test {
 protected:
  explicit GpuUseTest(std::vector<std::pair<std::string, std::string>> more = {}) : program_(folder_ / "t.kymo") {
    const std::vector<trace::Field> launch = {{"block_x", trace::FieldType::UInt},
                                              {"registers", trace::FieldType::UInt}};
    program_.add_class(kCopyKernel, "copy(float*)", "");
    program_.add_class(kProduct, "product(float*)", "", launch);
    program_.add_class(kTiny, "tiny(float*)", "");
    program_.add_class(kMemcpy, "copy on device", "copy");
    program_.add_queue(kStream, "uuid", "stream 7", 7, "NVIDIA H200");
    program_.add_queue(kSecondStream, "uuid", "stream 8", 8, "NVIDIA H200");
    more.insert(more.end(), {{"GPU counters", "NVIDIA H200"},
                             {"sample interval", std::to_string(kInterval)},
                             {"multiprocessors", "132"},
                             {"threads per multiprocessor", "2048"},
                             {"registers per multiprocessor", "65536"},
                             {"max SM clock [MHz]", "1980"},
                             {"max memory clock [MHz]", "3201"},
                             {"memory bus [bits]", "6144"}});
    counters_.emplace(folder_ / "t.kymo", 2, 99, trace::Writer::Mode::Append, 0, "", std::move(more));
    const std::vector<trace::Field> value = {{"value", trace::FieldType::Double}};
    for (const auto& [id, name] : std::map<uint32_t, std::string_view>{{kActiveId, kActive},
                                                                       {kReadId, kRead},
                                                                       {kWrittenId, kWritten},
                                                                       {kInstructionsId, kInstructions},
                                                                       {kClockId, kSmClock},
                                                                       {kReasonsId, "throttle reasons"},
                                                                       {kEnergyId, "energy [J]"},
                                                                       {kErrorsId, "ECC errors, corrected"}})
      counters_->add_class(id, std::string(name), "gpu", value);
    for (const uint32_t id : {kCounters, kSensors}) {
      trace::Track track;
      track.id = id;
      track.kind = trace::TrackKind::Process;
      track.clock = TestRecorder::kClock;
      track.name = id == kCounters ? "cuda:0 counters" : "cuda:0 sensors";
      track.device_uuid = "uuid";
      track.device_name = "NVIDIA H200";
      counters_->add_track(track);
    }
  }

  void run(Class kernel, uint64_t from_us, uint64_t to_us, uint32_t stream = kStream) {
    program_.complete(stream, 1000 * from_us, 1000 * to_us, kernel);
  }
  void sample(uint64_t begin_us, double active, double read, double written, double instructions) {
    const double values[] = {active, read, written, instructions};
    for (uint32_t i = 0; i < 4; ++i)
      counters_->point(kCounters, 1000 * begin_us, trace::PointKind::Counter, kActiveId + i, 0, {values[i]});
  }
  void sensor(uint64_t time_us, Counter which, double value) {
    counters_->point(kSensors, 1000 * time_us, trace::PointKind::Counter, which, 0, {value});
  }
  GpuUse use(uint64_t from_us = 0, uint64_t to_us = 1'000'000) {
    program_.close();
    counters_->close();
    const trace::Reader reader(folder_ / "t.kymo");
    EventWalk walk(reader);
    const auto at = [](uint64_t us) { return static_cast<int64_t>(kMonotonicZero + 1000 * us); };
    const std::vector<GpuUse> all = gpu_use(walk, read_device_work(walk), Intervals({{at(from_us), at(to_us)}}));
    EXPECT_EQ(all.size(), 1u);
    return all.empty() ? GpuUse() : all[0];
  }
  static const GpuRow& row(const GpuUse& use, std::string_view name) {
    static const GpuRow kNothing;
    const auto found = std::ranges::find(use.kernels, name, &GpuRow::name);
    return found == use.kernels.end() ? kNothing : *found;
  }

  TemporaryFolder folder_;
  TestRecorder program_;
  std::optional<TestRecorder> counters_;
};

TEST_F(GpuUseTest, ALongKernelHasTheMeanOfItsSamples) {
  run(kCopyKernel, 0, 10'000);
  for (uint64_t i = 0; i < 10; ++i) sample(1000 * i, 100, i % 2 == 0 ? 40 : 44, 36, 0.5);
  const GpuUse use = this->use();
  const GpuRow& copy = row(use, "copy(float*)");
  EXPECT_EQ(copy.samples, 10u);
  EXPECT_DOUBLE_EQ(use.value(copy, kActive), 100);
  EXPECT_DOUBLE_EQ(use.value(copy, kRead), 42);
  EXPECT_DOUBLE_EQ(use.memory(copy), 78);
  EXPECT_DOUBLE_EQ(use.value(copy, kInstructions), 0.5);
  EXPECT_LT(use.value(copy, kTensor), 0);
  EXPECT_THAT(use.verdicts(copy), ElementsAre("memory: 78 % of the peak of 4.9 TB/s (10 samples)"));
  EXPECT_DOUBLE_EQ(use.memory(use.all), 78);
}

// 200 µs of work in each millisecond: the shares of a sample are a fifth of those of the kernel.
TEST_F(GpuUseTest, AShortKernelHasWhatItsInstancesHaveTogether) {
  for (uint64_t i = 0; i < 20; ++i) {
    run(kTiny, 1000 * i + 100, 1000 * i + 200);
    run(kTiny, 1000 * i + 500, 1000 * i + 600);
    sample(1000 * i, 2, 3, 1, 0.25);
  }
  const GpuUse use = this->use();
  const GpuRow& tiny = row(use, "tiny(float*)");
  EXPECT_EQ(tiny.count, 40u);
  EXPECT_EQ(tiny.samples, 20u);
  EXPECT_DOUBLE_EQ(use.value(tiny, kActive), 10);
  EXPECT_DOUBLE_EQ(use.memory(tiny), 20);
  EXPECT_DOUBLE_EQ(use.value(tiny, kInstructions), 0.25);  // per cycle: not a share of time
  EXPECT_THAT(use.verdicts(tiny), ElementsAre("few threads: 13 of 132 multiprocessors active (20 samples)"));
}

TEST_F(GpuUseTest, SamplesWithTwoKernelsOrACopyBelongToNone) {
  for (uint64_t i = 0; i < 20; ++i) {
    run(kCopyKernel, 1000 * i, 1000 * i + 400);
    if (i < 10)
      run(kProduct, 1000 * i + 300, 1000 * i + 500, kSecondStream);
    else if (i < 16)
      run(kMemcpy, 1000 * i + 300, 1000 * i + 500, kSecondStream);
    sample(1000 * i, 40, 10, 10, 1);
  }
  const GpuUse use = this->use();
  EXPECT_EQ(row(use, "copy(float*)").samples, 4u);
  EXPECT_THAT(row(use, "copy(float*)").values, IsEmpty());  // too few
  EXPECT_THAT(row(use, "product(float*)").values, IsEmpty());
  EXPECT_THAT(use.verdicts(row(use, "copy(float*)")), IsEmpty());
  EXPECT_EQ(use.all.samples, 20u);
}

// PyTorch clears a few bytes before each product.
TEST_F(GpuUseTest, AShortOperationBesideAKernelChangesNothing) {
  for (uint64_t i = 0; i < 10; ++i) {
    run(kProduct, 1000 * i + 10, 1000 * i + 1000);
    run(kMemcpy, 1000 * i, 1000 * i + 5);
    sample(1000 * i, 99, 10, 10, 1);
  }
  EXPECT_EQ(row(use(), "product(float*)").samples, 10u);
}

// Its samples are nearly all of the time around it, so their edges decide.
TEST_F(GpuUseTest, AKernelThatHardlyRunsInItsSamplesHasNotEnough) {
  for (uint64_t i = 0; i < 50; ++i) {
    run(kTiny, 1000 * i + 100, 1000 * i + 150);
    sample(1000 * i, 5, 5, 5, 1);
  }
  EXPECT_THAT(row(use(), "tiny(float*)").values, IsEmpty());
}

TEST_F(GpuUseTest, OnlySamplesInsideOfTheWindowCount) {
  run(kCopyKernel, 0, 20'000);
  for (uint64_t i = 0; i < 20; ++i) sample(1000 * i, i < 10 ? 100 : 50, 10, 10, 1);
  const GpuUse use = this->use(10'000, 20'000);
  EXPECT_EQ(use.all.samples, 10u);
  EXPECT_DOUBLE_EQ(use.value(use.all, kActive), 50);
  EXPECT_EQ(row(use, "copy(float*)").total_ns, 10'000'000u);
}

// A sample lasts until the next one, but not across a gap: the GPU's buffer was full.
TEST_F(GpuUseTest, ASampleBeforeAGapLastsForOneInterval) {
  run(kCopyKernel, 0, 100'000);
  for (uint64_t i = 0; i < 10; ++i) sample(i < 5 ? 1000 * i : 50'000 + 1000 * i, 100, 10, 10, 1);
  EXPECT_EQ(use().all.sampled_ns, 10 * kInterval);
}

// A block of 1,024 threads with 64 registers needs all 65,536 of a multiprocessor.
TEST_F(GpuUseTest, RegistersThatLimitTheWarpsAreAVerdict) {
  program_.begin(kStream, 0, kProduct, {int64_t{1024}, int64_t{64}});
  program_.end(kStream, 10'000'000);
  for (uint64_t i = 0; i < 10; ++i) sample(1000 * i, 100, 10, 10, 1);
  const GpuUse use = this->use();
  EXPECT_THAT(use.verdicts(row(use, "product(float*)")),
              ElementsAre("registers limit it to 50 % of the warps (64 for each thread) (10 samples)"));
}

TEST_F(GpuUseTest, ALowClockHasItsReason) {
  run(kCopyKernel, 0, 1'000'000);
  for (uint64_t i = 0; i < 10; ++i) {
    sample(1000 * i, 100, 10, 10, 1);
    sensor(100'000 * i + 50'000, kClockId, 1290);
    sensor(100'000 * i + 50'000, kReasonsId, i < 6 ? 0x4 : 0);
  }
  sensor(1'500'000, kClockId, 345);  // idle: does not count
  EXPECT_THAT(use(0, 2'000'000).verdicts(), ElementsAre("clock 1,290 of 1,980 MHz: power limit (10 readings)"));
}

TEST_F(GpuUseTest, AHighClockIsNoVerdict) {
  run(kCopyKernel, 0, 1'000'000);
  sample(0, 100, 10, 10, 1);
  for (uint64_t i = 0; i < 10; ++i) sensor(100'000 * i + 50'000, kClockId, 1965);
  EXPECT_THAT(use().verdicts(), IsEmpty());
}

TEST_F(GpuUseTest, EnergyIsOfTheWholeWindowAndOfAKernelThatRanAlone) {
  run(kCopyKernel, 0, 2'000'000);
  run(kCopyKernel, 2'000'000, 4'000'000);
  run(kProduct, 4'000'000, 4'600'000);
  for (uint64_t i = 0; i < 5; ++i) sensor(1'000'000 * i + 500'000, kEnergyId, 1'000 + 500 * static_cast<double>(i));
  const GpuUse use = this->use(0, 5'000'000);
  EXPECT_DOUBLE_EQ(use.joules(5'000'000'000), 2'500);  // 500 W
  EXPECT_LT(use.joules(10'000'000'000), 0) << "most of the window has no reading";
  const GpuRow& copy = row(use, "copy(float*)");
  EXPECT_DOUBLE_EQ(copy.joules, 1'500);  // of the first three of the four intervals
  EXPECT_DOUBLE_EQ(copy.joules_launches, 1.5);
  EXPECT_EQ(row(use, "product(float*)").joules_launches, 0);
}

TEST_F(GpuUseTest, ErrorsDuringTheRecordingAreAVerdict) {
  run(kCopyKernel, 0, 3'000'000);
  for (uint64_t i = 0; i < 3; ++i) sensor(1'000'000 * i, kErrorsId, 7 + static_cast<double>(i));
  EXPECT_THAT(use(0, 3'000'000).verdicts(), ElementsAre("memory errors that ECC corrected: 2"));
}

struct SharedGpuTest : GpuUseTest {
  SharedGpuTest() : GpuUseTest({{"other processes", "yes"}}) {}
};

TEST_F(SharedGpuTest, WithOtherProcessesThereIsNoVerdict) {
  run(kCopyKernel, 0, 10'000);
  for (uint64_t i = 0; i < 10; ++i) sample(1000 * i, 100, 50, 40, 0.5);
  const GpuUse use = this->use();
  EXPECT_TRUE(use.has_others);
  EXPECT_DOUBLE_EQ(use.memory(use.all), 90);
  EXPECT_THAT(use.verdicts(row(use, "copy(float*)")), IsEmpty());
}

}  // namespace
}  // namespace kymo::analyze
