#include "collect/queue_clocks.h"

#include <gtest/gtest.h>

namespace kymo::collect {
namespace {

using trace::ClockDomain;
using trace::ClockPair;

TEST(QueueClocksTest, QueuesWithEqualKeysShareAClock) {
  QueueClocks clocks(2);
  QueueClock& first = clocks.find({"GPU-1", 5, 40, 3, 64});
  EXPECT_EQ(first.id(), 2u);
  EXPECT_EQ(&clocks.find({"GPU-1", 5, 40, 3, 64}), &first);
  EXPECT_NE(&clocks.find({"GPU-1", 6, 40, 3, 64}), &first);
  EXPECT_NE(&clocks.find({"GPU-2", 5, 40, 3, 64}), &first) << "another device's clock of the same number";
  EXPECT_EQ(clocks.find(uint32_t{2}), &first);
  EXPECT_EQ(clocks.find(uint32_t{9}), nullptr);
}

TEST(QueueClocksTest, PairsAreReportedOnceAndAscending) {
  QueueClocks clocks(2);
  QueueClock& clock = clocks.find({"GPU-1", 1, 40, 3, 64});
  clock.add_pair({300, 4000, 9000, 5});
  clock.add_pair({100, 1000, 6000, 5});
  clock.add_pair({300, 4000, 9000, 5});
  ClockDomain domain;
  ASSERT_TRUE(clock.changes(domain));
  EXPECT_EQ(domain.kind, trace::ClockKind::Device);
  EXPECT_EQ(domain.period_numerator, 40u);
  EXPECT_EQ(domain.pairs, (std::vector<ClockPair>{{100, 1000, 6000, 5}, {300, 4000, 9000, 5}}));
  clock.mark_written();
  EXPECT_FALSE(clock.changes(domain));
  clock.add_pair({300, 4000, 9000, 5});
  EXPECT_FALSE(clock.changes(domain)) << "restated by another queue";
  clock.add_pair({500, 7000, 12000, 5});
  ASSERT_TRUE(clock.changes(domain));
  EXPECT_EQ(domain.pairs.size(), 1u);
  clock.mark_written();
  EXPECT_EQ(clock.whole().pairs, (std::vector<ClockPair>{{100, 1000, 6000, 5}, {500, 7000, 12000, 5}}));
}

TEST(QueueClocksTest, ACounterThatWrapsContinues) {
  QueueClocks clocks(2);
  QueueClock& clock = clocks.find({"GPU-1", 1, 10, 1, 16});
  EXPECT_EQ(clock.extend(0xfff0), 0xfff0u);
  EXPECT_EQ(clock.extend(0x0010), 0x10010u);
  EXPECT_EQ(clock.extend(0xfff8), 0xfff8u) << "a little before";
  EXPECT_EQ(clock.elapsed(0xfff0, 0x10), 0x20u);
  EXPECT_TRUE(clock.is_backwards(clock.elapsed(0x20, 0x10)));
}

TEST(QueueClocksTest, APairGivesThePositionOfACounterAfterALongPause) {
  QueueClocks clocks(2);
  QueueClock& clock = clocks.find({"GPU-1", 1, 10, 1, 16});
  clock.add_pair({100, 1000, 0, 5});
  clock.add_pair({(100 + 500'000) & 0xffff, 5'001'000, 0, 5});  // the counter wrapped seven times
  ClockDomain domain;
  ASSERT_TRUE(clock.changes(domain));
  EXPECT_EQ(domain.pairs[1].ticks, 500'100u);
  EXPECT_EQ(domain.wrap_bits, 64u);
  EXPECT_EQ(clock.extend((500'200) & 0xffff), 500'200u);
}

TEST(QueueClocksTest, ALaterCollectorContinuesWithTheClocksOfTheFile) {
  QueueClocks clocks(2);
  ClockDomain host, device;
  host.id = 1;
  device.id = 4;
  device.kind = trace::ClockKind::Device;
  device.pairs = {{0x30000, 1, 2, 3}};
  clocks.resume({{1, host}, {4, device}});
  QueueClock* clock = clocks.find(uint32_t{4});
  ASSERT_NE(clock, nullptr);
  clocks.recognize(4, "GPU-1", 7, 16);
  clocks.recognize(9, "GPU-1", 8, 16);
  EXPECT_EQ(clock->extend(5), 0x30005u);
  EXPECT_EQ(clocks.find({"GPU-1", 7, 1, 1, 16}).id(), 4u) << "another queue of the device";
  EXPECT_EQ(clocks.find({"GPU-1", 1, 1, 1, 64}).id(), 5u);
  EXPECT_EQ(clocks.find(uint32_t{1}), nullptr) << "the host's is not a device's";
}

}  // namespace
}  // namespace kymo::collect
