// Ranges on several stacks of one thread: an end closes the innermost range of its own stack.
#include <gtest/gtest.h>

#include "collect/ring_decoder.h"
#include "collect/ring_test_support.h"

namespace kymo::collect {
namespace {

using record::Kind;
using record::on_stack;

class RingStacksTest : public RingDecoderTest {
 protected:
  void begin(uint64_t time, uint32_t class_id, uint16_t stack, std::vector<uint64_t> words = {}) {
    put(time, Kind::Begin, on_stack(class_id, stack), std::move(words));
  }
  void end(uint64_t time, uint16_t stack) { put(time, Kind::End, on_stack(0, stack)); }
};

TEST_F(RingStacksTest, RangesOfSeveralStacksNestInEachOther) {
  const uint32_t one = add_class("one"), two = add_class("two");
  begin_thread(1);
  begin(10, one, 1);
  begin(20, two, 2);
  end(30, 2);
  end(40, 1);
  const auto& batch = decode();
  EXPECT_EQ(batch.ranges.class_id, (std::vector<uint32_t>{two, one}));
  EXPECT_EQ(batch.ranges.depth, (std::vector<uint16_t>{1, 0}));
}

TEST_F(RingStacksTest, AnEndSplitsRangesOfOtherStacksInside) {
  const kymo_arg number{"n", {}, 0, KYMO_UINT};
  const uint32_t one = add_class("one"), two = add_class("two", {number});
  begin_thread(1);
  begin(10, one, 1);
  begin(20, two, 2, {7});
  end(30, 1);
  end(50, 2);
  const auto& batch = decode();
  EXPECT_EQ(batch.ranges.class_id, (std::vector<uint32_t>{two, one, two}));
  EXPECT_EQ(batch.ranges.end, (std::vector<uint64_t>{30, 30, 50}));
  EXPECT_EQ(batch.ranges.duration, (std::vector<uint64_t>{10, 20, 20}));
  EXPECT_EQ(batch.ranges.depth, (std::vector<uint16_t>{1, 0, 0}));
  EXPECT_EQ(batch.ranges.values.ints, (std::vector<uint64_t>{7, 7}));
  EXPECT_TRUE(batch.closing.empty());
}

TEST_F(RingStacksTest, AnEndWithoutARangeOnItsStackClosesNothing) {
  const uint32_t one = add_class("one");
  begin_thread(1);
  begin(10, one, 1);
  end(20, 2);
  const auto& batch = decode();
  EXPECT_EQ(batch.ranges.size(), 0u);
  EXPECT_EQ(batch.closing.size(), 1u);
  EXPECT_TRUE(decoder.take_losses().empty());
}

TEST_F(RingStacksTest, AnEndOnAnyStackClosesTheInnermostRange) {
  const uint32_t one = add_class("one"), two = add_class("two");
  begin_thread(1);
  begin(10, one, 1);
  begin(20, two, 2);
  end(30, record::kAnyStack);
  EXPECT_EQ(decode().ranges.class_id, std::vector<uint32_t>{two});
}

// A collector that takes over knows the open ranges from the file, which has no stacks.
TEST_F(RingStacksTest, ACollectorThatTakesOverClosesTheInnermostRange) {
  const uint32_t one = add_class("one");
  trace::OpenRange open;
  open.start = 5;
  open.class_id = one;
  decoder.resume({}, {open});
  end(20, 9);
  EXPECT_EQ(decode().ranges.class_id, std::vector<uint32_t>{one});
}

// Otherwise a damaged ring could make a chunk of any size.
TEST_F(RingStacksTest, ManyInterleavedRangesCostNoMoreThanTheirNumberAllows) {
  const uint32_t id = add_class("deep");
  begin_thread(1);
  constexpr int kDeep = 1000;
  for (int i = 0; i < kDeep; ++i) begin(10 + i, id, static_cast<uint16_t>(1 + i));
  for (int i = 0; i < kDeep; ++i) end(5000 + i, static_cast<uint16_t>(1 + i));
  const auto& batch = decode();
  EXPECT_GE(batch.ranges.size(), size_t{kDeep});
  EXPECT_LE(batch.ranges.size(), size_t{kDeep} * 64);
  EXPECT_TRUE(batch.closing.empty());
}

}  // namespace
}  // namespace kymo::collect
