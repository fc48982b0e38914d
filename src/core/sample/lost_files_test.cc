#include "sample/lost_files.h"

#include <gtest/gtest.h>

namespace kymo::sample {
namespace {

TEST(CodeMapTest, AddressHasTheFunctionAroundIt) {
  const CodeMap map("1000 20 first\n0x2000 0x10 LazyCompile:*second main.js:7\n");
  EXPECT_EQ(map.at(0xfff), "");
  EXPECT_EQ(map.at(0x1000), "first");
  EXPECT_EQ(map.at(0x101f), "first");
  EXPECT_EQ(map.at(0x1020), "");
  EXPECT_EQ(map.at(0x200f), "LazyCompile:*second main.js:7");
}

TEST(CodeMapTest, LaterLineReplacesAnEarlierOne) {
  const CodeMap map("1000 20 old\n1000 8 new\n");
  EXPECT_EQ(map.at(0x1007), "new");
  EXPECT_EQ(map.at(0x1008), "");
}

TEST(CodeMapTest, OtherLinesAreLeftOut) {
  const CodeMap map(
      "\nx\n1000\n1000 20\n1000 20 \nffffffffffffffff 20 overflow\n11112222333344445 1 long\n3000 0 empty\n"
      "4000 1 last");
  EXPECT_EQ(map.at(0x1000), "");
  EXPECT_EQ(map.at(0x3000), "");
  EXPECT_EQ(map.at(0x4000), "last");
}

TEST(CodeMapTest, ProcessWithoutAMapHasNoNames) { EXPECT_EQ(CodeMap::of_process(1).at(0x1000), ""); }

}  // namespace
}  // namespace kymo::sample
