#include "inject/device_clock.h"

#include <gtest/gtest.h>

#include <vector>

namespace kymo::inject {
namespace {

constexpr uint64_t kHost = 5'000'000'000'000, kDevice = 77'000'000'000;  // the same moment

// A command at `at` ns after that moment, whose call took `call` ns and was reported 100 µs after its end.
CommandTimes command(uint64_t at, uint64_t call, uint64_t into_call) {
  CommandTimes times;
  times.before = kHost + at;
  times.after = times.before + call;
  times.queued = kDevice + at + into_call;
  times.start = times.queued + 20'000;
  times.end = times.start + 5'000;
  times.seen = times.before + into_call + 25'000 + 100'000;
  return times;
}

void expect_right(const base::ClockPair& pair, uint64_t most_error) {
  const auto truth = static_cast<int64_t>(kHost - kDevice + pair.ticks);
  const int64_t wrong = static_cast<int64_t>(pair.monotonic_ns) - truth;
  EXPECT_LE(std::abs(wrong), static_cast<int64_t>(pair.error_ns));
  EXPECT_LE(pair.error_ns, most_error);
}

TEST(DeviceClockTest, WithoutCommandsThereIsNoPair) {
  DeviceClock clock;
  EXPECT_FALSE(clock.take_pair({}, std::nullopt).has_value());
}

TEST(DeviceClockTest, CommandsNarrowTheBounds) {
  DeviceClock clock;
  clock.add(command(0, 100'000, 90'000));
  EXPECT_FALSE(clock.is_exact());
  clock.add(command(1'000'000, 3'000, 100));
  clock.add(command(2'000'000, 3'000, 2'900));
  EXPECT_TRUE(clock.is_exact());
  const auto pair = clock.take_pair({}, std::nullopt);
  ASSERT_TRUE(pair.has_value());
  expect_right(*pair, 150);
  EXPECT_FALSE(clock.has_commands()) << "the next pair has its own commands, because clocks drift";
}

TEST(DeviceClockTest, SomeCommandsAreEnough) {
  DeviceClock clock;
  for (uint64_t i = 0; i < 64; ++i) {
    EXPECT_FALSE(clock.has_enough());
    clock.add(command(i * 1'000, 300'000, 1'000));
  }
  EXPECT_TRUE(clock.has_enough());
  EXPECT_TRUE(clock.is_exact()) << "it does not become better";
  clock.take_pair({}, std::nullopt);
  EXPECT_FALSE(clock.has_enough());
}

TEST(DeviceClockTest, TheErrorOfTheHostsTimesIsIncluded) {
  DeviceClock clock;
  CommandTimes times = command(0, 1'000, 500);
  times.host_error_ns = 700;
  clock.add(times);
  EXPECT_GE(clock.take_pair({}, std::nullopt)->error_ns, 1'200u);
}

TEST(DeviceClockTest, AHostClockThatAgreesIsExact) {
  DeviceClock clock;
  clock.add(command(0, 3'000, 1'500));
  const std::vector<TimerReading> clocks{{kHost + 1'000'000, kHost + 1'000'010, kHost + 1'000'020},  // not this one
                                         {kHost + 1'000'000, kDevice + 1'000'010, kHost + 1'000'020}};
  const auto pair = clock.take_pair(clocks, std::nullopt);
  expect_right(*pair, 12);
}

TEST(DeviceClockTest, SeveralHostClocksThatAgreeGiveTheErrorOfTheirDifference) {
  DeviceClock clock;
  clock.add(command(0, 30'000, 15'000));
  const std::vector<TimerReading> clocks{{kHost, kDevice - 2'000, kHost + 20}, {kHost, kDevice + 1'000, kHost + 20}};
  const auto pair = clock.take_pair(clocks, std::nullopt);
  expect_right(*pair, 1'600);
  EXPECT_GE(pair->error_ns, 1'500u);
}

TEST(DeviceClockTest, ADeviceTimerIsUsedIfItAgreesWithTheCommands) {
  DeviceClock clock;
  clock.add(command(0, 40'000, 20'000));
  const auto pair = clock.take_pair({}, TimerReading{kHost + 500, kDevice + 600, kHost + 700});
  expect_right(*pair, 101);
  EXPECT_TRUE(clock.timer_fits());

  clock.add(command(1'000'000, 40'000, 20'000));
  const auto other = clock.take_pair({}, TimerReading{kHost + 500, kDevice + 900'000'000, kHost + 700});
  expect_right(*other, 20'001);
  EXPECT_FALSE(clock.timer_fits()) << "it is another clock";
}

TEST(DeviceClockTest, QueuedTimesOutsideOfTheCallAreNotUsed) {
  DeviceClock clock;
  for (int i = 0; i < 3; ++i) {
    CommandTimes times = command(1'000'000 * static_cast<uint64_t>(i), 3'000, 1'000);
    times.queued -= 900'000'000;  // of another clock
    clock.add(times);
  }
  const auto pair = clock.take_pair({}, std::nullopt);
  const auto truth = kHost - kDevice;
  EXPECT_NEAR(static_cast<double>(pair->monotonic_ns - pair->ticks), static_cast<double>(truth),
              static_cast<double>(pair->error_ns));
  EXPECT_LE(pair->error_ns, 100'000u);
}

TEST(DeviceClockTest, ImpossibleTimesAreIgnored) {
  DeviceClock clock;
  CommandTimes times = command(0, 3'000, 1'000);
  times.end = times.start - 1;
  clock.add(times);
  EXPECT_FALSE(clock.has_commands());
}

}  // namespace
}  // namespace kymo::inject
