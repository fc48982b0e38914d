#include "base/text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace kymo::base {
namespace {

using Parts = std::vector<std::string>;

TEST(TextTest, ASplitTextHasOnePartMoreThanSeparators) {
  EXPECT_EQ(split("a,b,c", ','), (Parts{"a", "b", "c"}));
  EXPECT_EQ(split("", ','), (Parts{""}));
  EXPECT_EQ(split(",", ','), (Parts{"", ""}));
  EXPECT_EQ(split("a,,b,", ','), (Parts{"a", "", "b", ""}));
}

TEST(TextTest, JoinedPartsAreTheTextAgain) {
  const Parts parts = {"", "one", "", "two", ""};
  EXPECT_EQ(split(join(parts, ","), ','), parts);
}

}  // namespace
}  // namespace kymo::base
