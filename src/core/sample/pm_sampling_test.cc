// Our declarations of CUPTI's PM sampling against NVIDIA's headers, and the choice of counters by NVIDIA's library,
// where those are installed. Neither needs a GPU.
#include "sample/pm_sampling.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include "base/test_size.h"
#include "kymo/error.h"
#include "sample/pm_sampling_abi.h"

namespace kymo::sample {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string beside_this_program(const std::string& name) {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / name;
}

struct PmSamplingTest : testing::Test {
  PmSamplingTest() : cupti(dlopen(beside_this_program(KYMO_TEST_CUPTI).c_str(), RTLD_NOW | RTLD_LOCAL)) {
    for (const char* const name :
         {"fake_enable_result", "fake_by_time_result", "fake_pending", "fake_overflow", "fake_enabled", "fake_started"})
      state(name) = 0;
  }
  int& state(const char* name) { return *static_cast<int*>(dlsym(cupti, name)); }
  static std::string why(const std::function<void()>& start) {
    try {
      start();
    } catch (const NotAvailable& error) {
      return error.what();
    }
    return "it started";
  }
  void* cupti;
};

TEST_F(PmSamplingTest, SamplesComeOnceAndInOrder) {
  PmSampling sampling(cupti, 0, 1'000'000, {"a", "b.sum"});
  std::vector<uint64_t> begins;
  std::vector<double> last;
  const auto visit = [&](uint64_t begin, uint64_t end, const std::vector<double>& values) {
    EXPECT_EQ(end, begin + 1000);
    begins.push_back(begin);
    last = values;
  };
  state("fake_pending") = 3;
  EXPECT_TRUE(sampling.read(visit));
  EXPECT_THAT(begins, ElementsAre(1'001'000, 1'002'000));  // the first one has no begin: it is as long as the setup
  state("fake_pending") = 1'000;                           // more than an image holds
  EXPECT_TRUE(sampling.read(visit));
  EXPECT_EQ(begins.size(), 1'002u);
  EXPECT_TRUE(std::ranges::is_sorted(begins));
  EXPECT_THAT(last, ElementsAre(1'002, 10'020));
}

TEST_F(PmSamplingTest, ABufferThatWasFullIsReported) {
  PmSampling sampling(cupti, 0, 1'000'000, {"a"});
  state("fake_overflow") = 1;
  EXPECT_FALSE(sampling.read([](uint64_t, uint64_t, const std::vector<double>&) {}));
}

TEST_F(PmSamplingTest, CountersThatNeedAnotherPassAreLeftOut) {
  const PmSampling sampling(cupti, 0, 1'000'000, {"a.sum", "c.sum", "d", "b.sum"});
  EXPECT_EQ(sampling.set().counters().size(), 2u);
  EXPECT_EQ(sampling.set().counters()[1].name, "b.sum [byte]");
  EXPECT_THAT(sampling.set().refused(), ElementsAre("c.sum", "d"));
}

TEST_F(PmSamplingTest, AnOlderGpuIsSampledByCycles) {
  state("fake_by_time_result") = 27;  // not supported
  const PmSampling sampling(cupti, 0, 1'000'000, {"a"});
  EXPECT_EQ(state("fake_trigger"), 0);
}

TEST_F(PmSamplingTest, MissingRightsSayHowToGetThem) {
  const auto start = [this] { PmSampling(cupti, 0, 1'000'000, {"a"}); };
  state("fake_by_time_result") = 35;
  EXPECT_THAT(why(start), HasSubstr("NVreg_RestrictProfilingToAdminUsers=0"));
  EXPECT_EQ(state("fake_enabled"), 0);
  state("fake_enable_result") = 35;
  EXPECT_THAT(why(start), HasSubstr("NVreg_RestrictProfilingToAdminUsers=0"));
}

TEST_F(PmSamplingTest, AnotherToolKeepsTheCounters) {
  const auto start = [this] { PmSampling(cupti, 0, 1'000'000, {"a"}); };
  state("fake_by_time_result") = 26;
  EXPECT_THAT(why(start), HasSubstr("another tool has them"));
  EXPECT_EQ(state("fake_enabled"), 0);
  EXPECT_EQ(state("fake_started"), 0);
}

TEST_F(PmSamplingTest, AGpuThatMigDividesSaysSo) {
  state("fake_enable_result") = 43;
  EXPECT_THAT(why([this] { PmSampling(cupti, 0, 1'000'000, {"a"}); }), HasSubstr("divided by MIG"));
}

TEST_F(PmSamplingTest, ItEndsWhatItHasStarted) {
  {
    PmSampling sampling(cupti, 0, 1'000'000, {"a"});
    EXPECT_EQ(state("fake_enabled") + state("fake_started"), 2);
    sampling.stop();
    EXPECT_EQ(state("fake_started"), 0);
  }
  EXPECT_EQ(state("fake_enabled") + state("fake_started"), 0);
}

TEST_F(PmSamplingTest, AnOlderLibraryIsNotAvailable) {
  void* const other = dlopen("libc.so.6", RTLD_NOW | RTLD_LOCAL);
  EXPECT_THAT(why([other] { PmSampling(other, 0, 1'000'000, {"a"}); }), HasSubstr("older than CUDA 12.6"));
}

}  // namespace
}  // namespace kymo::sample

#if __has_include(<cupti_pmsampling.h>)
#include <cuda.h>
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_target.h>

namespace kymo::sample {
namespace {

#define EXPECT_SAME_PLACE(Ours, ours, Theirs, theirs)                               \
  do {                                                                              \
    Ours mine{};                                                                    \
    EXPECT_EQ(reinterpret_cast<char*>(&mine.ours) - reinterpret_cast<char*>(&mine), \
              static_cast<ptrdiff_t>(offsetof(Theirs, theirs)));                    \
    EXPECT_EQ(sizeof mine.ours, sizeof(Theirs::theirs));                            \
  } while (false)

TEST(PmSamplingAbiTest, HostStructures) {
  EXPECT_SAME_PLACE(cupti::HostInitialize, kind, CUpti_Profiler_Host_Initialize_Params, profilerType);
  EXPECT_SAME_PLACE(cupti::HostInitialize, host, CUpti_Profiler_Host_Initialize_Params, pHostObject);
  EXPECT_SAME_PLACE(cupti::HostDeinitialize, host, CUpti_Profiler_Host_Deinitialize_Params, pHostObject);
  EXPECT_SAME_PLACE(cupti::AddMetrics, count, CUpti_Profiler_Host_ConfigAddMetrics_Params, numMetrics);
  EXPECT_SAME_PLACE(cupti::ConfigSize, bytes, CUpti_Profiler_Host_GetConfigImageSize_Params, configImageSize);
  EXPECT_SAME_PLACE(cupti::Config, image, CUpti_Profiler_Host_GetConfigImage_Params, pConfigImage);
  EXPECT_SAME_PLACE(cupti::Passes, passes, CUpti_Profiler_Host_GetNumOfPasses_Params, numOfPasses);
  EXPECT_SAME_PLACE(cupti::Evaluate, sample, CUpti_Profiler_Host_EvaluateToGpuValues_Params, rangeIndex);
  EXPECT_SAME_PLACE(cupti::Evaluate, values, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pMetricValues);
  EXPECT_SAME_PLACE(cupti::Properties, unit, CUpti_Profiler_Host_GetMetricProperties_Params, pDimUnit);
  EXPECT_SAME_PLACE(cupti::Properties, kind, CUpti_Profiler_Host_GetMetricProperties_Params, metricType);
}

TEST(PmSamplingAbiTest, DeviceStructures) {
  EXPECT_SAME_PLACE(cupti::ChipName, name, CUpti_Device_GetChipName_Params, pChipName);
  EXPECT_SAME_PLACE(cupti::Availability, image, CUpti_PmSampling_GetCounterAvailability_Params,
                    pCounterAvailabilityImage);
  EXPECT_SAME_PLACE(cupti::Enable, object, CUpti_PmSampling_Enable_Params, pPmSamplingObject);
  EXPECT_SAME_PLACE(cupti::OfObject, object, CUpti_PmSampling_Start_Params, pPmSamplingObject);
  EXPECT_SAME_PLACE(cupti::SetConfig, buffer_bytes, CUpti_PmSampling_SetConfig_Params, hardwareBufferSize);
  EXPECT_SAME_PLACE(cupti::SetConfig, append, CUpti_PmSampling_SetConfig_Params, hwBufferAppendMode);
  EXPECT_SAME_PLACE(cupti::DataSize, most_samples, CUpti_PmSampling_GetCounterDataSize_Params, maxSamples);
  EXPECT_SAME_PLACE(cupti::DataSize, bytes, CUpti_PmSampling_GetCounterDataSize_Params, counterDataSize);
  EXPECT_SAME_PLACE(cupti::DataInitialize, image, CUpti_PmSampling_CounterDataImage_Initialize_Params, pCounterData);
  EXPECT_SAME_PLACE(cupti::Decode, stop_reason, CUpti_PmSampling_DecodeData_Params, decodeStopReason);
  EXPECT_SAME_PLACE(cupti::Decode, overflow, CUpti_PmSampling_DecodeData_Params, overflow);
  EXPECT_SAME_PLACE(cupti::DataInfo, completed, CUpti_PmSampling_GetCounterDataInfo_Params, numCompletedSamples);
  EXPECT_SAME_PLACE(cupti::SampleInfo, end, CUpti_PmSampling_CounterData_GetSampleInfo_Params, endTimestamp);
}

struct CounterSetTest : testing::Test {
  void SetUp() override {
    if (base::kIsSanitized) GTEST_SKIP() << "CUPTI loads its library for counters in a way that no sanitizer allows";
    cupti = dlopen("libcupti.so.13", RTLD_NOW | RTLD_LOCAL);
    if (cupti == nullptr) cupti = dlopen("/usr/local/cuda-13.0/lib/libcupti.so.13", RTLD_NOW | RTLD_LOCAL);
    if (cupti == nullptr) GTEST_SKIP() << dlerror();
  }
  std::vector<std::string> names(const CounterSet& set) const {
    std::vector<std::string> all;
    for (const GpuCounter& one : set.counters()) all.push_back(one.name);
    return all;
  }
  void* cupti = nullptr;
  std::vector<uint8_t> all;
};

TEST_F(CounterSetTest, DefaultSetOfHopperIsComplete) {
  const CounterSet set(cupti, "GH100", all, {});
  EXPECT_THAT(names(set),
              testing::ElementsAre("multiprocessors active [%]", "warps active [%]", "tensor cores active [%]",
                                   "DRAM read [%]", "DRAM written [%]", "instructions per cycle",
                                   "SM cycles per second", "FMA pipe active [%]", "FP64 pipe active [%]"));
  EXPECT_TRUE(set.refused().empty());
  EXPECT_FALSE(set.config().empty());
}

TEST_F(CounterSetTest, CountersThatAChipRefusesAreLeftOut) {
  const CounterSet set(cupti, "TU102", all, {});
  EXPECT_THAT(set.refused(), testing::Not(testing::IsEmpty()));
  EXPECT_THAT(names(set), testing::Contains("multiprocessors active [%]"));
}

TEST_F(CounterSetTest, OwnNamesAreCompletedAndHaveUnits) {
  const CounterSet set(cupti, "GH100", all, {"sm__cycles_active.sum", "dram__bytes_read.sum", "no__such_counter"});
  EXPECT_THAT(names(set), testing::ElementsAre("sm__cycles_active.sum [gpc_cycle]", "dram__bytes_read.sum [byte]"));
  EXPECT_THAT(set.refused(), testing::ElementsAre("no__such_counter"));
}

TEST_F(CounterSetTest, UnknownChipIsNotAvailable) {
  EXPECT_THROW(CounterSet(cupti, "XX999", all, {}), NotAvailable);
  EXPECT_THROW(CounterSet(cupti, "GH100", all, {"no__such_counter"}), NotAvailable);
}

}  // namespace
}  // namespace kymo::sample
#endif
