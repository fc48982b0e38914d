// Kymo and a profiler of the program share a CUPTI that behaves as NVIDIA's does: one subscriber, one pair of functions
// for buffers, a clock for records that are made after it was set.
#include "inject/cuda/shared_cupti.h"

#include <gmock/gmock.h>
#include <gnu/libc-version.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/clock.h"
#include "inject/cuda/imports.h"

namespace kymo::inject::cuda {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr uint32_t kLaunch = 307;

// ---- CUPTI

struct Library {
  Cupti::OnCall callback = nullptr;
  std::set<std::pair<int, uint32_t>> calls;
  std::set<Kind> kinds;
  Cupti::Requested requested = nullptr;
  Cupti::Completed completed = nullptr;
  SharedCupti::Clock clock = base::realtime_ns;
  uint8_t* buffer = nullptr;
  size_t used = 0;
  int finalized = 0;
};
Library library;

void deliver() {
  uint8_t* const buffer = std::exchange(library.buffer, nullptr);
  if (buffer != nullptr) library.completed(nullptr, 0, buffer, 1 << 18, std::exchange(library.used, 0));
}

constexpr Cupti kCupti = [] {
  Cupti made{};
  made.subscribe = [](Cupti::Subscriber* subscriber, Cupti::OnCall callback, void*) {
    if (library.callback != nullptr) return kOtherSubscriber;
    library.callback = callback;
    *subscriber = &library;
    return 0;
  };
  made.unsubscribe = [](Cupti::Subscriber) {
    library.callback = nullptr;
    return 0;
  };
  made.enable_callback = [](uint32_t enable, Cupti::Subscriber, int domain, uint32_t call) {
    enable != 0 ? void(library.calls.insert({domain, call})) : void(library.calls.erase({domain, call}));
    return 0;
  };
  made.enable_domain = [](uint32_t, Cupti::Subscriber, int) { return 0; };
  made.enable = [](Kind kind) {
    library.kinds.insert(kind);
    return 0;
  };
  made.disable = [](Kind kind) {
    library.kinds.erase(kind);
    return 0;
  };
  made.register_buffers = [](Cupti::Requested requested, Cupti::Completed completed) {
    library.requested = requested;
    library.completed = completed;
    return 0;
  };
  made.register_clock = [](SharedCupti::Clock clock) {
    library.clock = clock;
    return 0;
  };
  made.flush = [](uint32_t) {
    deliver();
    return 0;
  };
  made.finalize = [] {
    library = Library{.finalized = library.finalized + 1};
    return 0;
  };
  return made;
}();

// The device runs a kernel, if anybody wants its record.
void run_kernel(uint32_t correlation) {
  if (!library.kinds.contains(Kind::Kernel)) return;
  size_t size = 0, most = 0;
  if (library.buffer == nullptr) library.requested(&library.buffer, &size, &most);
  Kernel record{};
  record.kind = Kind::Kernel;
  record.correlation = correlation;
  record.start = record.end = library.clock();
  memcpy(library.buffer + library.used, &record, sizeof record);
  library.used += sizeof record;
}

std::vector<Kernel> records_of(const uint8_t* buffer, size_t valid) {
  std::vector<Kernel> all(valid / sizeof(Kernel));
  memcpy(all.data(), buffer, valid);
  return all;
}

// ---- The two users

std::vector<uint32_t> kymo_calls, program_calls, kymo_kernels, program_kernels;
std::vector<uint64_t> kymo_times;
SharedCupti* shared = nullptr;

void read_for_kymo(uint8_t* buffer, size_t valid) {
  const RecordClock clock = shared->record_clock();
  for (const Kernel& one : records_of(buffer, valid)) {
    kymo_kernels.push_back(one.correlation);
    kymo_times.push_back(clock.to_monotonic(one.start));
  }
}

constexpr size_t kProgramBytes = 1 << 20;
int program_buffers = 0;  // that it has given away
void program_requested(uint8_t** buffer, size_t* size, size_t* most) {
  ++program_buffers;
  *buffer = new uint8_t[kProgramBytes];
  *size = kProgramBytes;
  *most = 0;
}
void program_completed(void*, uint32_t, uint8_t* buffer, size_t, size_t valid) {
  for (const Kernel& one : records_of(buffer, valid)) program_kernels.push_back(one.correlation);
  --program_buffers;
  delete[] buffer;
}
uint64_t program_clock() { return 3 * base::monotonic_ns() + 1'000; }  // not in nanoseconds, as libkineto's

class SharedCuptiTest : public testing::Test {
 protected:
  void SetUp() override {
    library = {};
    program_buffers = 0;
    for (auto* list : {&kymo_calls, &program_calls, &kymo_kernels, &program_kernels}) list->clear();
    kymo_times.clear();
    shared = new SharedCupti(
        kCupti, {[](void*, int, uint32_t call, const void*) { kymo_calls.push_back(call); }, read_for_kymo});
  }
  void TearDown() override { deliver(); }

  static void attach() {
    std::string other;
    ASSERT_EQ(shared->attach(false, other), 0);
    shared->record_kind(Kind::Kernel, true);
    shared->record_kind(Kind::Graph, true);
    shared->record_call(kDriverDomain, kLaunch, true);
  }
  // As libkineto does.
  void subscribe_program() {
    const auto on_call = [](void*, int, uint32_t call, const void*) { program_calls.push_back(call); };
    ASSERT_EQ(shared->subscribe(&subscriber_, on_call, nullptr), 0);
  }
  static void start_profiler() {
    shared->register_clock(program_clock);
    shared->register_buffers(program_requested, program_completed);
    shared->enable(Kind::Kernel);
  }
  static void stop_profiler() {
    shared->disable(Kind::Kernel);
    if (program_buffers != 0) shared->flush(1);
  }

  Cupti::Subscriber subscriber_ = nullptr;
};

TEST_F(SharedCuptiTest, AProfilerOfTheProgramGetsItsKernelsAndKymoGetsAll) {
  attach();
  subscribe_program();
  for (uint32_t round = 0; round < 20; ++round) {
    run_kernel(3 * round);  // its buffer is still at CUPTI when the profiler starts
    start_profiler();
    EXPECT_FALSE(library.kinds.contains(Kind::Graph)) << "a graph has single kernels for the profiler";
    run_kernel(3 * round + 1);
    stop_profiler();
    EXPECT_TRUE(library.kinds.contains(Kind::Graph));
    EXPECT_EQ(program_buffers, 0);
    run_kernel(3 * round + 2);
    const std::vector<uint32_t> seen = std::exchange(program_kernels, {});
    ASSERT_FALSE(seen.empty()) << "round " << round;
    EXPECT_THAT(std::vector(seen.end() - std::min<ptrdiff_t>(1, std::ssize(seen)), seen.end()),
                ElementsAre(3 * round + 1));
  }
  const uint64_t now = base::monotonic_ns();
  shared->flush(1);
  ASSERT_EQ(kymo_kernels.size(), 60u);
  for (uint32_t i = 0; i < 60; ++i) EXPECT_EQ(kymo_kernels[i], i);
  for (const uint64_t time : kymo_times) {
    EXPECT_LE(time, now);
    EXPECT_GE(time + 60'000'000'000, now) << "the program's clock is converted";
  }
  EXPECT_TRUE(std::ranges::is_sorted(kymo_times, [](uint64_t a, uint64_t b) { return a + 1'000 < b; }));
}

TEST_F(SharedCuptiTest, ABufferThatCuptiHadBeforeIsCopiedForTheProfiler) {
  attach();
  run_kernel(1);
  shared->register_clock(base::monotonic_ns);
  shared->register_buffers(program_requested, program_completed);
  uint8_t* const before = std::exchange(library.buffer, nullptr);  // CUPTI does not deliver it when it is asked
  shared->enable(Kind::Kernel);
  library.buffer = before;
  run_kernel(2);
  stop_profiler();
  EXPECT_THAT(program_kernels, ElementsAre(1, 2));
  EXPECT_THAT(kymo_kernels, ElementsAre(1, 2));
}

TEST_F(SharedCuptiTest, EachUserGetsItsCalls) {
  attach();
  subscribe_program();
  library.callback(nullptr, kDriverDomain, kLaunch, nullptr);
  EXPECT_THAT(kymo_calls, ElementsAre(kLaunch));
  EXPECT_THAT(program_calls, IsEmpty()) << "it has not asked for it";
  shared->enable_callback(1, subscriber_, kDriverDomain, kLaunch);
  library.callback(nullptr, kDriverDomain, kLaunch, nullptr);
  EXPECT_THAT(kymo_calls, ElementsAre(kLaunch, kLaunch));
  EXPECT_THAT(program_calls, ElementsAre(kLaunch));
  shared->enable_callback(0, subscriber_, kDriverDomain, kLaunch);
  EXPECT_TRUE(library.calls.contains({kDriverDomain, kLaunch})) << "Kymo still wants it";
  constexpr uint32_t kContextCreated = 1;
  library.callback(nullptr, kResourceDomain, kContextCreated, nullptr);
  EXPECT_THAT(program_calls, ElementsAre(kLaunch)) << "it has not asked for it";
  shared->enable_domain(1, subscriber_, kResourceDomain);
  library.callback(nullptr, kResourceDomain, kContextCreated, nullptr);
  EXPECT_THAT(program_calls, ElementsAre(kLaunch, kContextCreated));
}

TEST_F(SharedCuptiTest, CuptiStaysForTheProfilerWhenKymoDetaches) {
  attach();
  subscribe_program();
  start_profiler();
  run_kernel(1);
  shared->record_kind(Kind::Kernel, false);
  shared->record_call(kDriverDomain, kLaunch, false);
  shared->detach();
  EXPECT_EQ(library.finalized, 0);
  run_kernel(2);
  stop_profiler();
  EXPECT_THAT(program_kernels, ElementsAre(1, 2));
  EXPECT_THAT(kymo_kernels, IsEmpty()) << "the buffer was complete after Kymo's recording";
  shared->finalize();
  EXPECT_EQ(library.finalized, 1);
  attach();
  run_kernel(3);
  shared->flush(1);
  EXPECT_THAT(kymo_kernels, ElementsAre(3));
}

TEST_F(SharedCuptiTest, AnotherToolKeepsCupti) {
  library.callback = [](void*, int, uint32_t, const void*) {};
  std::string other;
  EXPECT_EQ(shared->attach(false, other), kOtherSubscriber);
  Cupti::Subscriber subscriber = nullptr;
  EXPECT_EQ(shared->subscribe(&subscriber, library.callback, nullptr), kOtherSubscriber);
}

TEST_F(SharedCuptiTest, AProfilerThatHasRunBeforeGivesCuptiUp) {
  library.callback = [](void*, int, uint32_t, const void*) {};
  std::string other;
  ASSERT_EQ(shared->attach(true, other), 0);
  shared->record_kind(Kind::Kernel, true);
  start_profiler();
  run_kernel(1);
  stop_profiler();
  EXPECT_THAT(program_kernels, ElementsAre(1));
  EXPECT_THAT(kymo_kernels, ElementsAre(1));
}

TEST(ImportsTest, CallsOfALinkedLibraryAreLedElsewhere) {
  const auto instead = [] { return "led here"; };  // of a function that no sanitizer replaces
  const Import import[] = {{"gnu_get_libc_release", reinterpret_cast<void*>(+instead)}};
  EXPECT_EQ(replace_imports("libnobody.so", import), 0u);
  EXPECT_STRNE(gnu_get_libc_release(), "led here");
  EXPECT_GE(replace_imports("libc.so", import), 1u);
  EXPECT_STREQ(gnu_get_libc_release(), "led here");
}

}  // namespace
}  // namespace kymo::inject::cuda
