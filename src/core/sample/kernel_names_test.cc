#include "sample/kernel_names.h"

#include <gtest/gtest.h>

namespace kymo::sample {
namespace {

TEST(KernelNamesTest, FindsTheFunctionOfAnAddress) {
  KernelNames names;
  names.read(
      "ffffffff81000200 t second\n"
      "ffffffff81000000 T first\n"
      "ffffffff81000100 D some_data\n"
      "ffffffffc0000000 t of_module\t[module]\n"
      "not a line\n"
      "ffffffff81000300 T");
  EXPECT_EQ(names.at(0xffffffff81000150).name, "first");
  EXPECT_EQ(names.at(0xffffffff81000200).name, "second");
  EXPECT_EQ(names.at(0xffffffffc0000010).name, "of_module");
  EXPECT_EQ(names.at(0xffffffffc0000010).begin, 0xffffffffc0000000);
  EXPECT_EQ(names.at(0xffffffff80000000).begin, 0u);
}

TEST(KernelNamesTest, WithoutRightsNothingIsKnown) {
  KernelNames names;
  names.read("0000000000000000 T first\n0000000000000000 t second\n");
  EXPECT_EQ(names.at(0xffffffff81000150).begin, 0u);
}

}  // namespace
}  // namespace kymo::sample
