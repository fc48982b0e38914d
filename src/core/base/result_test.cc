#include "base/result.h"

#include <gtest/gtest.h>

namespace kymo::base {
namespace {

TEST(ResultTest, HasAValueOrAReason) {
  const Result<int> good = 7, bad = Refusal{"8 is too many"};
  ASSERT_TRUE(good);
  EXPECT_EQ(*good, 7);
  EXPECT_EQ(good.reason(), "");
  EXPECT_FALSE(bad);
  EXPECT_EQ(bad.reason(), "8 is too many");
}

TEST(ResultTest, CheckIsTrueIfThereIsNoError) {
  EXPECT_TRUE(Check());
  EXPECT_EQ(Check().reason(), "");
  EXPECT_FALSE(Check(Refusal{"wrong"}));
  EXPECT_FALSE(Check(Refusal{""})) << "a reason may be missing, but it is still a refusal";
}

TEST(ResultTest, FirstRefusalReturnsTheFirstError) {
  EXPECT_TRUE(first_refusal({Check(), Check()}));
  EXPECT_EQ(first_refusal({Check(), Refusal{"one"}, Refusal{"two"}}).reason(), "one");
}

}  // namespace
}  // namespace kymo::base
