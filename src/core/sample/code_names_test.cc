#include "sample/code_names.h"

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

TEST(NamesOfCodeTest, CodeHasThePathOfItsFileAlsoIfItIsReadElsewhere) {
  const std::vector<SampledCode> code = {{"/app/kept", "", "/app/kept", {16}},
                                         {"/app/program", "01", "/proc/self/fd/no", {16, 32}}};
  const NamesOfCode names = names_of(code, UINT64_MAX);
  EXPECT_EQ(names.left, 0u);
  ASSERT_EQ(names.parts.size(), 1u);
  ASSERT_EQ(names.parts[0].modules.size(), 2u);
  EXPECT_EQ(names.parts[0].modules[0].path, "/app/program") << "what cannot be read later comes first";
  EXPECT_EQ(names.parts[0].modules[0].build_id, "01");
  ASSERT_EQ(names.parts[0].frames.size(), 3u);
  EXPECT_EQ(names.parts[0].frames[1].module, names.parts[0].modules[0].id);
  EXPECT_EQ(names.parts[0].frames[1].offset, 32u);
  EXPECT_EQ(names.parts[0].frames[1].function, "program+0x20");
}

TEST(NamesOfCodeTest, AddressesAfterTheTimeAreLeft) {
  const NamesOfCode names = names_of({{"/app/program", "", "/app/program", {16, 32}}}, 0);
  EXPECT_EQ(names.left, 2u);
  EXPECT_TRUE(names.parts.empty());
}

}  // namespace
}  // namespace kymo::sample
