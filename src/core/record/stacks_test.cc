#include "record/stacks.h"

#include <gtest/gtest.h>

#include "kymo/annotate.h"

namespace kymo::record {
namespace {

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
