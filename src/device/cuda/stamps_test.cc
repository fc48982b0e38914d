#include "device/cuda/stamps.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "device/cuda/fake_driver.h"

namespace kymo::device::cuda {
namespace {

constexpr int64_t kOffset = 1'000;

class StampsTest : public ::testing::Test {
 protected:
  StampsTest() { fake_.memory_is_real = true; }

  // Does what a kernel does: its first group stores the start, a warp on multiprocessor `unit` raises the end.
  static void stamp_begin(const Stamp& stamp, uint64_t time) { *reinterpret_cast<uint64_t*>(stamp.start) = time; }
  static void stamp_finish(const Stamp& stamp, uint64_t time, uint32_t unit = 0) {
    auto* word = reinterpret_cast<uint64_t*>(stamp.ends + uint64_t{unit & stamp.mask} * kStampLine);
    *word = std::max(*word, time);
  }

  void run(uint64_t warps, uint64_t start, uint64_t end) {
    const auto stamp = stamps_.take(warps);
    ASSERT_TRUE(stamp);
    stamp_begin(*stamp, start);
    if (stamp->ends != 0) stamp_finish(*stamp, end, static_cast<uint32_t>(warps));
    stamps_.launched(warps);
  }

  Redeemed settle(Timing& timing) {
    Redeemed redeemed = Redeemed::Pending;
    for (int i = 0; i < 3 && redeemed == Redeemed::Pending; ++i) redeemed = stamps_.redeem(timing);
    return redeemed;
  }

  long calls(const char* name) const { return std::count(fake_.calls.begin(), fake_.calls.end(), name); }

  FakeDriver fake_;
  Api api_ = fake_.api();
  Context context_{api_, 0, reinterpret_cast<CUcontext>(0x1)};
  EventClock clock_{context_};
  TimerOffset timer_{context_, clock_, kOffset};
  Stamps stamps_{context_, clock_, timer_, reinterpret_cast<CUstream>(0x5)};
};

TEST_F(StampsTest, ManyLaunchesAreReadByOneEventAndOneCopy) {
  for (uint64_t i = 0; i < 100; ++i) run(1, 10'000 + 100 * i, 10'050 + 100 * i);
  const long events = calls("event_record"), copies = calls("copy_to_host");
  for (uint64_t i = 0; i < 100; ++i) {
    Timing timing;
    ASSERT_EQ(settle(timing), Redeemed::Done);
    EXPECT_EQ(timing.start, 9'000 + 100 * i);
    EXPECT_EQ(timing.end, 9'050 + 100 * i);
  }
  EXPECT_EQ(calls("event_record") - events, 2) << "behind the launches, and behind the copy";
  EXPECT_EQ(calls("copy_to_host") - copies, 1);
}

TEST_F(StampsTest, LaunchThatHasNotRunIsPending) {
  run(1, 10'000, 10'050);
  fake_.busy = true;
  Timing timing;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(stamps_.redeem(timing), Redeemed::Pending);
  fake_.busy = false;
  EXPECT_EQ(settle(timing), Redeemed::Done);
}

TEST_F(StampsTest, EverythingIsReadAtOnceIfTheStreamIsIdle) {
  run(1, 10'000, 10'050);
  Timing timing;
  fake_.busy = true;
  EXPECT_EQ(stamps_.redeem(timing), Redeemed::Pending);
  for (uint64_t i = 0; i < 3; ++i) run(5'000, 20'000 + 100 * i, 20'050 + 100 * i);
  stamps_.read_all();
  for (uint64_t i = 0; i < 4; ++i) EXPECT_EQ(stamps_.redeem(timing), Redeemed::Done);
  EXPECT_EQ(timing.end, 19'250u);
  fake_.busy = false;
  run(1, 30'000, 30'050);
  EXPECT_EQ(settle(timing), Redeemed::Done);
  EXPECT_EQ(timing.start, 29'000u);
}

TEST_F(StampsTest, EndIsTheLatestOfManyWords) {
  const auto stamp = stamps_.take(5'000);
  ASSERT_TRUE(stamp);
  EXPECT_EQ(stamp->mask, 7u);
  stamp_begin(*stamp, 10'000);
  for (uint32_t unit = 0; unit < 132; ++unit) stamp_finish(*stamp, 20'000 + (unit == 77 ? 500 : unit), unit);
  stamps_.launched(5'000);
  run(1, 30'000, 30'100);
  Timing timing;
  ASSERT_EQ(settle(timing), Redeemed::Done);
  EXPECT_EQ(timing.end, 19'500u);
  ASSERT_EQ(settle(timing), Redeemed::Done);
  EXPECT_EQ(timing.end, 29'100u);
}

TEST_F(StampsTest, EndOfALaunchOfVeryManyWarpsComesFromAnEvent) {
  const auto stamp = stamps_.take(1'000'000);
  ASSERT_TRUE(stamp);
  EXPECT_EQ(stamp->ends, 0u);
  const uint64_t base = fake_.timer_ns;
  stamp_begin(*stamp, 1'000'000'000 + kOffset);  // the clock starts with that many ticks
  fake_.timer_ns = base + 64'000;
  stamps_.launched(1'000'000);
  Timing timing;
  ASSERT_EQ(settle(timing), Redeemed::Done);
  EXPECT_EQ(timing.end - timing.start, 64'000u);
}

TEST_F(StampsTest, KernelWithoutAnEndStampIsLostAndTheNextIsNot) {
  run(1, 10'000, 10'050);
  Timing timing;
  ASSERT_EQ(settle(timing), Redeemed::Done);
  const auto stamp = stamps_.take(1);
  stamp_begin(*stamp, 20'000);
  stamps_.launched(1);
  run(1, 30'000, 30'050);
  EXPECT_EQ(settle(timing), Redeemed::Lost);
  EXPECT_EQ(settle(timing), Redeemed::Done);
}

TEST_F(StampsTest, NoStampIsGivenIfAllPlacesAreInUse) {
  for (uint64_t i = 0; i < 65'536; ++i) run(1, 10'000 + i, 10'000 + i);
  EXPECT_FALSE(stamps_.take(1));
  Timing timing;
  for (uint64_t i = 0; i < 65'536; ++i) {
    ASSERT_EQ(settle(timing), Redeemed::Done);
    ASSERT_EQ(timing.start, 9'000 + i);
  }
  for (uint64_t i = 0; i < 10; ++i) run(1, 90'000 + i, 90'000 + i);  // the ring wraps
  for (uint64_t i = 0; i < 10; ++i) {
    ASSERT_EQ(settle(timing), Redeemed::Done);
    ASSERT_EQ(timing.start, 89'000 + i);
  }
}

TEST_F(StampsTest, FailedDeviceLosesPendingLaunches) {
  run(1, 10'000, 10'050);
  run(5'000, 20'000, 20'050);
  fake_.busy = true;
  Timing timing;
  EXPECT_EQ(stamps_.redeem(timing), Redeemed::Pending);
  fake_.busy = false;
  fake_.failure = CUDA_ERROR_ILLEGAL_ADDRESS;
  EXPECT_EQ(stamps_.redeem(timing), Redeemed::Lost);
  EXPECT_EQ(stamps_.redeem(timing), Redeemed::Lost);
}

}  // namespace
}  // namespace kymo::device::cuda
