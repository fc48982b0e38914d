#include "convert/row_numbers.h"

#include <gtest/gtest.h>

namespace kymo::convert {
namespace {

TEST(RowNumbersTest, SystemNumberIsKeptIfItIsFree) {
  RowNumbers numbers;
  EXPECT_EQ(numbers.claim(101), 101u);
  EXPECT_EQ(numbers.claim(0), 0u);
  EXPECT_EQ(numbers.claim(101), RowNumbers::kFirstInvented);
  EXPECT_EQ(numbers.claim(101), RowNumbers::kFirstInvented + 1);
}

TEST(RowNumbersTest, NumbersFitIntoSigned32Bits) {
  RowNumbers numbers;
  EXPECT_EQ(numbers.claim(RowNumbers::kLargest), 2'147'483'647u);
  EXPECT_EQ(numbers.claim(RowNumbers::kLargest + 1), RowNumbers::kFirstInvented);
  EXPECT_EQ(numbers.claim(UINT64_MAX), RowNumbers::kFirstInvented + 1);
}

TEST(RowNumbersTest, InventedNumbersSkipUsedOnes) {
  RowNumbers numbers;
  numbers.claim(RowNumbers::kFirstInvented);
  EXPECT_EQ(numbers.invent(), RowNumbers::kFirstInvented + 1);
}

TEST(RowNumbersTest, ClaimFromReturnsTheFirstFreeNumber) {
  RowNumbers numbers;
  numbers.claim(1);
  EXPECT_EQ(numbers.claim_from(0), 0u);
  EXPECT_EQ(numbers.claim_from(0), 2u);
}

}  // namespace
}  // namespace kymo::convert
