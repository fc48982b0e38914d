#include "device/stamps/stamps.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "device/stamps/test_stamp_driver.h"

namespace kymo::device {
namespace {

class StampsTest : public ::testing::Test {
 protected:
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

  TestStampDriver driver_;
  Stamps stamps_{driver_};
};

TEST_F(StampsTest, ManyLaunchesAreReadByOneFenceAndOneCopy) {
  for (uint64_t i = 0; i < 100; ++i) run(1, 10'000 + 100 * i, 10'050 + 100 * i);
  for (uint64_t i = 0; i < 100; ++i) {
    Timing timing;
    ASSERT_EQ(settle(timing), Redeemed::Done);
    EXPECT_EQ(timing.start, 9'000 + 100 * i);
    EXPECT_EQ(timing.end, 9'050 + 100 * i);
  }
  EXPECT_EQ(driver_.fences, 1);
  EXPECT_EQ(driver_.copies, 1);
}

TEST_F(StampsTest, LaunchThatHasNotRunIsPending) {
  run(1, 10'000, 10'050);
  driver_.busy = true;
  Timing timing;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(stamps_.redeem(timing), Redeemed::Pending);
  driver_.busy = false;
  EXPECT_EQ(settle(timing), Redeemed::Done);
}

TEST_F(StampsTest, EverythingIsReadAtOnceIfTheStreamIsIdle) {
  run(1, 10'000, 10'050);
  Timing timing;
  driver_.busy = true;
  EXPECT_EQ(stamps_.redeem(timing), Redeemed::Pending);
  for (uint64_t i = 0; i < 3; ++i) run(5'000, 20'000 + 100 * i, 20'050 + 100 * i);
  stamps_.read_all();
  for (uint64_t i = 0; i < 4; ++i) EXPECT_EQ(stamps_.redeem(timing), Redeemed::Done);
  EXPECT_EQ(timing.end, 19'250u);
  driver_.busy = false;
  run(1, 30'000, 30'050);
  EXPECT_EQ(settle(timing), Redeemed::Done);
  EXPECT_EQ(timing.start, 29'000u);
}

TEST_F(StampsTest, EndIsTheLatestOfManyWords) {
  const auto stamp = stamps_.take(5'000);
  ASSERT_TRUE(stamp);
  EXPECT_EQ(stamp->mask, 15u);
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

TEST_F(StampsTest, LargeLaunchesShareSixtyFourWordsAndTheLargestHaveNoEnds) {
  for (const uint64_t warps : {32'768u, 262'144u}) EXPECT_EQ(stamps_.take(warps)->mask, 63u);
  const auto stamp = stamps_.take(262'145);
  ASSERT_TRUE(stamp);
  EXPECT_EQ(stamp->ends, 0u);
  stamp_begin(*stamp, 10'000);
  stamps_.launched(262'145);
  Timing timing;
  ASSERT_EQ(settle(timing), Redeemed::Done);
  EXPECT_EQ(timing.start, 9'000u);
  EXPECT_EQ(timing.end, 0u) << "the caller knows it";
}

TEST_F(StampsTest, NoStampIsGivenWithoutATimerOrMemory) {
  driver_.offset.reset();
  EXPECT_FALSE(stamps_.take(1));
  TestStampDriver poor;
  poor.has_memory = false;
  Stamps stamps(poor);
  EXPECT_FALSE(stamps.take(1));
  poor.has_memory = true;
  EXPECT_FALSE(stamps.take(1)) << "it is tried once";
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
  driver_.busy = true;
  Timing timing;
  EXPECT_EQ(stamps_.redeem(timing), Redeemed::Pending);
  driver_.failed = true;
  EXPECT_EQ(stamps_.redeem(timing), Redeemed::Lost);
  EXPECT_EQ(stamps_.redeem(timing), Redeemed::Lost);
}

TEST(TimeOrderTest, OperationsOfOneQueueDoNotOverlap) {
  TimeOrder order;
  Timing first{100, 200}, second{190, 195}, third{300, 310};
  for (Timing* timing : {&first, &second, &third}) order.apply(*timing);
  EXPECT_EQ(first.end, 200u);
  EXPECT_EQ(second.start, 200u);
  EXPECT_EQ(second.end, 200u);
  EXPECT_EQ(third.start, 300u);
}

}  // namespace
}  // namespace kymo::device
