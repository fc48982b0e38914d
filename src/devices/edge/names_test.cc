#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "edge/log.h"

namespace kymo::edge {
namespace {

TEST(NamesTest, EqualTextsHaveOneNumberAtAnyAddress) {
  Names names;
  const std::string one = "aten::add", other = "aten::add", third = "aten::mul";
  const uint32_t number = names.number_of(one);
  EXPECT_EQ(names.number_of(one), number);
  EXPECT_EQ(names.number_of(other), number);
  EXPECT_NE(names.number_of(third), number);
  EXPECT_EQ(names[number], "aten::add");
  EXPECT_EQ(names.size(), 2u);
}

TEST(NamesTest, DifferentTextAtTheSameAddressIsAnotherName) {
  Names names;
  char buffer[] = "step 1";
  const uint32_t first = names.number_of(buffer);
  buffer[5] = '2';
  const uint32_t second = names.number_of(buffer);
  EXPECT_NE(first, second);
  EXPECT_EQ(names[first], "step 1");
  EXPECT_EQ(names[second], "step 2");
  EXPECT_EQ(names.number_of(std::string_view(buffer, 4)), names.number_of("step"));
}

TEST(NamesTest, EmptyTextsAndTextsWithZerosAreNames) {
  Names names;
  const uint32_t empty = names.number_of({});
  EXPECT_EQ(names.number_of(""), empty);
  EXPECT_EQ(names[empty], "");
  const std::string with_zero("a\0b", 3);
  EXPECT_EQ(names[names.number_of(with_zero)], with_zero);
  EXPECT_NE(names.number_of("a"), names.number_of(with_zero));
}

TEST(NamesTest, ManyNamesHaveDifferentNumbers) {
  Names names;
  for (int round = 0; round < 2; ++round)
    for (uint32_t i = 0; i < 20'000; ++i) ASSERT_EQ(names.number_of("operation " + std::to_string(i)), i);
  EXPECT_EQ(names.size(), 20'000u);
  EXPECT_EQ(names[19'999], "operation 19999");
}

}  // namespace
}  // namespace kymo::edge
