#include <gtest/gtest.h>

#include "analyze/report/collective_calls.h"

namespace kymo::analyze {
namespace {

TEST(ProcessGroupTest, TheSameRanksHaveTheSameText) {
  for (const char* const text : {"[0, 1, 2, 3]", "[3,2,1,0]", "0-3", " [ 0-1, 2 ,3 ,3] "}) {
    const auto list = parse_rank_list(text);
    ASSERT_TRUE(list) << text;
    EXPECT_EQ(list->text(), "[0, 1, 2, 3]") << text;
    EXPECT_TRUE(list->is_complete);
  }
}

TEST(ProcessGroupTest, WhatIsNotAListIsNone) {
  for (const char* const text : {"", "[]", "[", "]", "[0", "0]", "[0,]", "[a]", "[-1]", "[3-1]", "[1.5]", "[...]",
                                 "[4294967296]", "0-4294967295", "[0, 1] x"})
    EXPECT_FALSE(parse_rank_list(text)) << text;
}

TEST(ProcessGroupTest, TheNumberOfMembersIsThatOfTheRanks) {
  EXPECT_EQ(make_process_group("tp", "[1, 0]", ""), (ProcessGroup{"tp [0, 1]", 2}));
  EXPECT_EQ(make_process_group("", "[1, 0]", ""), (ProcessGroup{"[0, 1]", 2}));
  EXPECT_EQ(make_process_group("tp", "", "8"), (ProcessGroup{"tp", 8}));
  EXPECT_EQ(make_process_group("tp", "all", ""), (ProcessGroup{"tp all", 0}));
  EXPECT_EQ(make_process_group("tp", "[0, 1]", "3"), (ProcessGroup{"tp [0, 1]", 3}));
  EXPECT_EQ(make_process_group("", "", "8"), (ProcessGroup{}));
}

TEST(ProcessGroupTest, AListThatPytorchCutsHasTheSizeOfTheGroup) {
  EXPECT_EQ(make_process_group("dp", "[0, 1, ...]", "64"), (ProcessGroup{"dp [0, 1, ...]", 64}));
  EXPECT_EQ(make_process_group("dp", "[0, 1, ...]", ""), (ProcessGroup{"dp [0, 1, ...]", 0}));
  EXPECT_FALSE(ranks_in("dp [0, 1, ...]"));
}

TEST(ProcessGroupTest, TheNameOfAGroupHasItsRanks) {
  EXPECT_EQ(ranks_in("tp[0] [4, 6]")->ranks, (std::vector<uint32_t>{4, 6}));
  EXPECT_FALSE(ranks_in("tp"));
  EXPECT_FALSE(ranks_in(""));
}

}  // namespace
}  // namespace kymo::analyze
