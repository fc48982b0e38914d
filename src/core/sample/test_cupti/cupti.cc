// A library that behaves like CUPTI's PM sampling of a device with two counters, for tests: 5 samples for each decode,
// at most so many in an image. Metric "a" has 1, 2, 3, …; "b" has 10, 20, 30, … Both fit into one pass, "c" does not.
#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "sample/pm_sampling_abi.h"

using namespace kymo::sample::cupti;

extern "C" {
// What a test sets: results of functions, and what a decode finds.
int fake_enable_result, fake_by_time_result, fake_pending, fake_overflow;
int fake_enabled, fake_started;  // how often, minus how often it was ended
uint32_t fake_trigger;
}

namespace {

constexpr uint64_t kInterval = 1000, kBegin = 1'000'000;
uint64_t first, count, decoded;  // of the image
std::vector<std::string_view> added;

}  // namespace

extern "C" {

int cuptiProfilerInitialize(Head*) { return 0; }
int cuptiDeviceGetChipName(ChipName* p) {
  p->name = "FAKE1";
  return 0;
}
int cuptiPmSamplingGetCounterAvailability(Availability* p) {
  if (p->image == nullptr) p->bytes = 4;
  return 0;
}
int cuptiProfilerHostInitialize(HostInitialize* p) {
  p->host = &added;
  added.clear();
  return 0;
}
int cuptiProfilerHostDeinitialize(HostDeinitialize*) { return 0; }
int cuptiProfilerHostConfigAddMetrics(AddMetrics* p) {
  constexpr std::string_view kKnown[] = {"a.sum", "b.sum", "c.sum"};
  for (size_t i = 0; i < p->count; ++i) {
    if (std::ranges::find(kKnown, p->names[i]) == std::end(kKnown)) return 1;
    added.emplace_back(p->names[i]);
  }
  return 0;
}
int cuptiProfilerHostGetConfigImageSize(ConfigSize* p) {
  p->bytes = 1;
  return 0;
}
int cuptiProfilerHostGetConfigImage(Config* p) {
  p->image[0] = std::ranges::find(added, "c.sum") == added.end() ? 1 : 2;
  return 0;
}
int cuptiProfilerHostGetNumOfPasses(Passes* p) {
  p->passes = p->image[0];
  return 0;
}
int cuptiProfilerHostGetMetricProperties(Properties* p) {
  p->unit = "byte";
  return 0;
}
int cuptiPmSamplingEnable(Enable* p) {
  if (fake_enable_result != 0) return fake_enable_result;
  ++fake_enabled;
  p->object = &fake_enabled;
  first = count = decoded = 0;
  return 0;
}
int cuptiPmSamplingDisable(OfObject*) {
  --fake_enabled;
  return 0;
}
int cuptiPmSamplingSetConfig(SetConfig* p) {
  fake_trigger = p->trigger;
  return p->trigger == 1 ? fake_by_time_result : 0;
}
int cuptiPmSamplingGetCounterDataSize(DataSize* p) {
  p->bytes = p->most_samples;
  return 0;
}
int cuptiPmSamplingCounterDataImageInitialize(DataInitialize*) {
  first = decoded;
  count = 0;
  return 0;
}
int cuptiPmSamplingStart(OfObject*) {
  ++fake_started;
  return 0;
}
int cuptiPmSamplingStop(OfObject*) {
  --fake_started;
  return 0;
}
int cuptiPmSamplingDecodeData(Decode* p) {
  const uint64_t taken = std::min<uint64_t>(static_cast<uint64_t>(fake_pending), p->bytes - count);
  count += taken;
  decoded += taken;
  fake_pending -= static_cast<int>(taken);
  p->stop_reason = fake_pending != 0 ? 1 : 2;
  p->overflow = static_cast<uint8_t>(fake_overflow);
  return 0;
}
int cuptiPmSamplingGetCounterDataInfo(DataInfo* p) {
  p->total = p->bytes;
  p->populated = p->completed = count;
  return 0;
}
int cuptiPmSamplingCounterDataGetSampleInfo(SampleInfo* p) {
  p->begin = kBegin + (first + p->sample) * kInterval;
  p->end = p->begin + kInterval;
  return 0;
}
int cuptiProfilerHostEvaluateToGpuValues(Evaluate* p) {
  for (size_t i = 0; i < p->count; ++i)
    p->values[i] = static_cast<double>(first + p->sample) * (std::strcmp(p->names[i], "a.sum") == 0 ? 1 : 10);
  return 0;
}

}  // extern "C"
