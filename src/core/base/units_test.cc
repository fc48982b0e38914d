#include "base/units.h"

#include <gtest/gtest.h>

namespace kymo::base {
namespace {

TEST(UnitsTest, CountsAreGroupedByThousands) {
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(1'000), "1,000");
  EXPECT_EQ(count_text(1'234'567), "1,234,567");
  EXPECT_EQ(count_text(UINT64_MAX), "18,446,744,073,709,551,615");
}

TEST(UnitsTest, OnlyOneIsSingular) {
  EXPECT_EQ(count_of(0, "event"), "0 events");
  EXPECT_EQ(count_of(1, "event"), "1 event");
  EXPECT_EQ(count_of(1'024, "event"), "1,024 events");
  EXPECT_EQ(count_of(2, "process", "processes"), "2 processes");
}

TEST(UnitsTest, BytesKeepTwoOrThreeDigits) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(999), "999 B");
  EXPECT_EQ(bytes_text(1'000), "1.0 kB");
  EXPECT_EQ(bytes_text(1'249'999), "1.2 MB");
  EXPECT_EQ(bytes_text(128'000'000), "128 MB");
  EXPECT_EQ(bytes_text(999'600'000), "1.0 GB");
  EXPECT_EQ(bytes_text(UINT64_MAX), "18.4 EB");
}

TEST(UnitsTest, DurationsKeepThreeDigitsAndNeverShowAThousandOfAUnit) {
  EXPECT_EQ(duration_text(0), "0 ns");
  EXPECT_EQ(duration_text(999), "999 ns");
  EXPECT_EQ(duration_text(1'000), "1.00 µs");
  EXPECT_EQ(duration_text(9'996), "10.0 µs");
  EXPECT_EQ(duration_text(123'456), "123 µs");
  EXPECT_EQ(duration_text(999'600), "1.00 ms");
  EXPECT_EQ(duration_text(34'100'000'000), "34.1 s");
  EXPECT_EQ(duration_text(59'970'000'000), "1 min 00 s");
  EXPECT_EQ(duration_text(245'000'000'000), "4 min 05 s");
  EXPECT_EQ(duration_text(3'599'600'000'000), "1 h 00 min");
  EXPECT_EQ(duration_text(7'380'000'000'000), "2 h 03 min");
}

TEST(UnitsTest, OffsetsHaveASign) {
  EXPECT_EQ(offset_text(1'200'000'000), "+1.20 s");
  EXPECT_EQ(offset_text(-500), "-500 ns");
  EXPECT_EQ(offset_text(0), "+0 ns");
}

TEST(UnitsTest, WholeCounterValuesHaveNoFraction) {
  EXPECT_EQ(number_text(1'048'576), "1,048,576");
  EXPECT_EQ(number_text(-12), "-12");
  EXPECT_EQ(number_text(0.25), "0.25");
  EXPECT_EQ(number_text(1e300), "1e+300");
}

}  // namespace
}  // namespace kymo::base
