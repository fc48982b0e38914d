// Annotations while nothing records: depths are correct, nothing is stored, nothing is created.

#include "kymo/annotate.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>

#include "record/annotate.h"
#include "record/process.h"
#include "record/slots.h"

// This program has no collector.
extern "C" void kymo_link_collector(void) {}

namespace kymo::record {
namespace {

TEST(DepthTest, PushReturnsTheZeroBasedDepthAndPopTheSame) {
  EXPECT_EQ(range_push("a"), 0);
  EXPECT_EQ(range_push("b {}", 1), 1);
  EXPECT_EQ(kymo_range_push("c"), 2);
  EXPECT_EQ(range_pop(), 2);
  EXPECT_EQ(kymo_range_pop(), 1);
  EXPECT_EQ(range_pop(), 0);
}

TEST(DepthTest, PopOnAnEmptyStackIsMinusOne) {
  EXPECT_EQ(range_pop(), -1);
  EXPECT_EQ(range_push("a"), 0);
  EXPECT_EQ(range_pop(), 0);
  EXPECT_EQ(range_pop(), -1);
}

TEST(RangeTest, OneLineMayHaveSeveralRanges) {
  // clang-format off
  { KYMO_RANGE("outer"); KYMO_RANGE("inner {}", 1); EXPECT_EQ(range_push("a"), 0); }
  // clang-format on
  EXPECT_EQ(range_pop(), 0);
}

TEST(DepthTest, EachThreadHasItsOwnDepth) {
  range_push("outer");
  std::thread([] { EXPECT_EQ(range_push("other"), 0); }).join();
  EXPECT_EQ(range_pop(), 0);
}

TEST(DepthTest, ScopedRangesDoNotChangeTheDepth) {
  KYMO_RANGE("scope");
  EXPECT_EQ(range_push("a"), 0);
  EXPECT_EQ(range_pop(), 0);
}

TEST(HandleTest, HandlesAreUniqueAndNeverZero) {
  std::set<uint64_t> handles;
  const auto take = [&] {
    for (int i = 0; i < 3000; ++i) EXPECT_TRUE(handles.insert(static_cast<uint64_t>(range_start("r"))).second);
  };
  take();
  std::thread(take).join();
  EXPECT_FALSE(handles.contains(0));
  range_end(RangeId{12345});  // nothing records: nothing happens
}

TEST(OffTest, NothingIsCreatedWhileNothingRecords) {
  for (int i = 0; i < 100; ++i) {
    KYMO_RANGE("r {}", i);
    mark("m");
    counter("c", i);
    flow_begin("f", 1);
  }
  EXPECT_EQ(process()->segment.load(), nullptr);
  EXPECT_FALSE(kymo_is_recording());
}

TEST(RangedTest, WrapsAnyCallable) {
  auto add = ranged("add", [](int a, int b) { return a + b; });
  EXPECT_EQ(add(2, 3), 5);
  std::string text;
  auto append = ranged("append", [&](const std::string& more) -> std::string& { return text += more; });
  EXPECT_EQ(&append("x"), &text);
}

TEST(ForbiddenTest, AnInternalThreadHasNoSlot) {
  std::thread([] {
    forbid_recording_on_this_thread();
    EXPECT_EQ(find_slot(), nullptr);
    EXPECT_EQ(range_pop(), -1);
  }).join();
}

TEST(StacksTest, DoNothingWhileNothingRecords) {
  static constinit Site site{"function"};
  const Label label("range", "domain");
  begin_on_stack(label, nullptr, 0, kFirstLibraryStack, 0);
  begin_site_on_stack(site, kFunctionStack);
  EXPECT_EQ(kymo::range_push("pushed"), 0);
  end_site_on_stack(kFunctionStack);
  end_on_stack(kFirstLibraryStack, 0);
  EXPECT_EQ(kymo::range_pop(), 0);
}

TEST(StacksTest, APushThatNobodyReceivesCountsItsDepth) {
  EXPECT_EQ(push_unheard(), 0);
  EXPECT_EQ(kymo::range_push("inner"), 1);
  EXPECT_EQ(push_unheard(), 2);
  EXPECT_EQ(kymo::range_pop(), 2);
  EXPECT_EQ(kymo::range_pop(), 1);
  EXPECT_EQ(kymo::range_pop(), 0);
  EXPECT_EQ(kymo::range_pop(), -1);
}

}  // namespace
}  // namespace kymo::record
