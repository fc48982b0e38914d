#include "inject/cuda/calls.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <thread>

#include "inject/cuda/cupti.h"

namespace kymo::inject::cuda {
namespace {

std::string_view name_of(const Call& call) { return {call.site.label.name, call.site.label.name_length}; }

// "cuMemcpyHtoD_v2_ptds" is cuMemcpyHtoD.
std::string without_suffixes(std::string name) {
  for (const std::string suffix : {"_ptds", "_ptsz", "_v2"})
    if (name.ends_with(suffix)) name.resize(name.size() - suffix.size());
  return name;
}

TEST(CudaCallsTest, EachIsFoundByItsNumberAndOthersAreNot) {
  std::set<uint32_t> ids;
  for (Call& call : recorded_calls()) {
    EXPECT_EQ(call_of(call.id), &call);
    EXPECT_TRUE(ids.insert(call.id).second) << call.id << " is listed twice";
  }
  for (const uint32_t other : {0u, 1u, 799u, 801u, 0xffffffffu}) EXPECT_EQ(call_of(other), nullptr) << other;
}

TEST(CudaCallsTest, NumbersAreThoseOfCupti) {
  std::string why;
  const Cupti* const cupti = load_cupti(why);
  if (cupti == nullptr || cupti->call_name == nullptr) GTEST_SKIP() << why;
  uint32_t version = 0;
  cupti->version(&version);
  size_t known = 0;
  for (const Call& call : recorded_calls()) {
    const char* name = nullptr;
    if (cupti->call_name(kDriverDomain, call.id, &name) != 0 || name == nullptr) continue;  // newer than this CUPTI
    EXPECT_EQ(without_suffixes(name), name_of(call)) << call.id;
    ++known;
  }
  EXPECT_GT(known, recorded_calls().size() / 2) << "CUPTI " << version;
}

TEST(CudaCallsTest, TheStreamOfACall) {
  int place = 0;
  CallData data{};
  EXPECT_EQ(stream_of(*call_of(307), data), nullptr) << "without parameters";
  LaunchParameters launch{};
  launch.stream = &place;
  data.parameters = &launch;
  EXPECT_EQ(stream_of(*call_of(307), data), &place);
  LaunchConfig config{};
  config.stream = &place;
  const LaunchConfig* extended = &config;
  data.parameters = &extended;
  EXPECT_EQ(stream_of(*call_of(652), data), &place);
  extended = nullptr;
  EXPECT_EQ(stream_of(*call_of(652), data), nullptr);
  void* const copy[] = {nullptr, nullptr, nullptr, &place};
  data.parameters = copy;
  EXPECT_EQ(stream_of(*call_of(277), data), &place);
  EXPECT_EQ(stream_of(*call_of(243), data), nullptr) << "cuMemAlloc has none";
}

TEST(CudaCallsTest, MemoryOfAnAllocationAndAFree) {
  uint64_t address = 0x7000;
  size_t pitch = 512;
  int result = 0;
  CallData data{};
  data.result = &result;
  Memory memory{};

  const AllocateParameters plain{&address, 100};
  data.parameters = &plain;
  ASSERT_TRUE(allocated_by(*call_of(243), data, memory));
  EXPECT_EQ(memory.address, 0x7000u);
  EXPECT_EQ(memory.bytes, 100u);
  result = 2;
  EXPECT_FALSE(allocated_by(*call_of(243), data, memory)) << "the call failed";
  ASSERT_TRUE(failed_to_allocate(*call_of(243), data, memory));
  EXPECT_EQ(memory.bytes, 100u) << "asked for";
  result = 1;
  EXPECT_FALSE(failed_to_allocate(*call_of(243), data, memory)) << "for another reason";
  result = 0;

  const PitchParameters rows{&address, &pitch, 500, 10};
  data.parameters = &rows;
  ASSERT_TRUE(allocated_by(*call_of(244), data, memory));
  EXPECT_EQ(memory.bytes, 5120u);

  const FreeParameters freed{0x7000};
  data.parameters = &freed;
  ASSERT_TRUE(freed_by(*call_of(245), data, memory));
  EXPECT_EQ(memory.address, 0x7000u);
  EXPECT_FALSE(freed_by(*call_of(307), data, memory)) << "a launch frees nothing";
  data.parameters = nullptr;
  EXPECT_FALSE(freed_by(*call_of(245), data, memory));
  EXPECT_FALSE(allocated_by(*call_of(243), data, memory));
}

}  // namespace
}  // namespace kymo::inject::cuda

extern "C" int* kymo_inject_cuda_calls();

namespace kymo::inject::cuda {
namespace {

TEST(CudaOwnCallsTest, AreCountedForEachThread) {
  EXPECT_FALSE(is_own_call());
  ++*kymo_inject_cuda_calls();
  EXPECT_TRUE(is_own_call());
  std::thread([] { EXPECT_FALSE(is_own_call()); }).join();
  --*kymo_inject_cuda_calls();
  EXPECT_FALSE(is_own_call());
}

TEST(CudaOwnCallsTest, NumbersAreRememberedUntilTheyRepeat) {
  const auto work = std::make_unique<OwnWork>();
  for (const uint32_t number : {1u, 64u, 1'000'000u, 0xffffffffu}) {
    EXPECT_FALSE(work->contains(number));
    work->remember(number);
    EXPECT_TRUE(work->contains(number));
    EXPECT_FALSE(work->contains(number + 1));
  }
  work->forget(64 + (1 << 20));
  EXPECT_FALSE(work->contains(64)) << "a call of the program has the number now";
  EXPECT_TRUE(work->contains(1));
}

}  // namespace
}  // namespace kymo::inject::cuda
