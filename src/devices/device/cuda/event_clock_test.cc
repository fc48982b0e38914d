#include "device/cuda/event_clock.h"

#include <gtest/gtest.h>
#include <time.h>

#include <cmath>

#include "device/cuda/test_fake_driver.h"

namespace kymo::device::cuda {
namespace {

int64_t simulated_coarse_ns() { return static_cast<int64_t>(FakeDriver::instance()->timer_ns); }

class EventClockTest : public ::testing::Test {
 protected:
  CUevent record() {
    CUevent event = nullptr;
    api_.event_create(&event, 0);
    api_.event_record(event, nullptr);
    return event;
  }

  FakeDriver fake_;
  Api api_ = fake_.api();
  Context context_{api_, 0, reinterpret_cast<CUcontext>(0x1)};
};

TEST_F(EventClockTest, TenMinutesOfUseStayWithinFiftyNanoseconds) {
  EventClock clock(context_, simulated_coarse_ns);
  const CUevent first = record();
  const uint64_t first_ticks = clock.ticks_of(first), first_time = fake_.timer_ns;
  int64_t worst = 0;
  for (int i = 0; i < 60'000; ++i) {
    fake_.timer_ns += 10'000'000 + static_cast<uint64_t>(i % 977) * 32;
    clock.tend();
    const uint64_t passed = clock.ticks_of(record()) - first_ticks;
    worst = std::max(worst, std::abs(static_cast<int64_t>(passed - (fake_.timer_ns / 32 * 32 - first_time / 32 * 32))));
  }
  EXPECT_LT(worst, 50) << "a float of ten minutes in milliseconds has steps of 62 us";
}

TEST_F(EventClockTest, EventRedeemedLateIsMeasuredFromTheBaseNearIt) {
  EventClock clock(context_, simulated_coarse_ns);
  const CUevent early = record();
  fake_.timer_ns += 3200;
  const CUevent later = record();
  for (int i = 0; i < 1000; ++i) {
    fake_.timer_ns += 100'000'000;
    clock.tend();
    clock.ticks_of(record());
  }
  EXPECT_EQ(clock.ticks_of(later) - clock.ticks_of(early), 3200u);
}

TEST_F(EventClockTest, ErrorOfAnIdleHourIsAtMostHalfAFloatStep) {
  EventClock clock(context_, simulated_coarse_ns);
  const uint64_t before = clock.ticks_of(record());
  fake_.timer_ns += 3'600'000'000'000;
  clock.tend();
  const auto passed = static_cast<double>(clock.ticks_of(record()) - before);
  EXPECT_NEAR(passed, 3.6e12, 3.6e12 * 6e-8);
  const uint64_t after = clock.ticks_of(record());
  fake_.timer_ns += 320;
  EXPECT_EQ(clock.ticks_of(record()) - after, 320u) << "afterwards it is exact again";
}

TEST_F(EventClockTest, NumberOfBasesIsLimited) {
  EventClock clock(context_, simulated_coarse_ns);
  for (int i = 0; i < 10'000; ++i) {
    fake_.timer_ns += 100'000'000;
    clock.tend();
  }
  EXPECT_LT(fake_.events.size(), 2100u);
}

TEST_F(EventClockTest, ReadingIsWithinItsError) {
  // The device's timer runs at the speed of the host's clock, with another origin.
  static constexpr uint64_t kOrigin = 777'000'000'000;
  const auto host = [] {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
  };
  static uint64_t (*const kHost)() = host;
  static CUresult (*const kRecord)(CUevent, CUstream) = api_.event_record;
  api_.event_record = [](CUevent event, CUstream stream) {
    FakeDriver::instance()->timer_ns = kHost() + kOrigin;
    return kRecord(event, stream);
  };
  EventClock clock(context_);
  const base::ClockPair reading = clock.read();
  const CUevent event = record();
  const uint64_t event_host = fake_.timer_ns - kOrigin;
  const auto converted = reading.monotonic_ns + (clock.ticks_of(event) - reading.ticks);
  EXPECT_LE(std::abs(static_cast<int64_t>(converted - event_host)), static_cast<int64_t>(reading.error_ns) + 64);
}

TEST_F(EventClockTest, ReadingDoesNotWaitForADelayedStreamAndReportsItsError) {
  EventClock clock(context_);
  const base::ClockPair good = clock.read();
  fake_.busy = true;
  const timespec pause{0, 20'000'000};
  nanosleep(&pause, nullptr);
  const base::ClockPair carried = clock.read();
  EXPECT_GE(carried.ticks - good.ticks, 20'000'000u);
  EXPECT_EQ(carried.ticks - good.ticks, carried.monotonic_ns - good.monotonic_ns);
  EXPECT_GE(carried.error_ns, good.error_ns + 20'000'000 / 20'000);
  fake_.busy = false;
  EXPECT_LT(clock.read().ticks, carried.ticks) << "a new reading: the timer of this device stands still";
}

}  // namespace
}  // namespace kymo::device::cuda
