#include "base/units.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kymo/error.h"

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

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(QuantityTest, CountsAreWholeNumbersFromOne) {
  EXPECT_EQ(parse_count("10"), 10u);
  for (const char* bad : {"", "0", "-1", "1.5", "ten", "10 "})
    EXPECT_THAT([&] { parse_count(bad); }, ThrowsMessage<InvalidArgument>(HasSubstr("is not a count"))) << bad;
}

TEST(QuantityTest, ErrorForATooLargeValueStatesTheMaximum) {
  EXPECT_THAT(
      [] { parse_count("99999999999999999999"); },
      ThrowsMessage<InvalidArgument>("'99999999999999999999' is too large; the maximum is 18446744073709551615"));
  EXPECT_THAT([] { parse_bytes("99999999TB"); },
              ThrowsMessage<InvalidArgument>("'99999999TB' is too large; the maximum is 9000000TB"));
  EXPECT_THAT([] { parse_duration_ns("9999999h"); },
              ThrowsMessage<InvalidArgument>("'9999999h' is too long; the maximum is 2500000h"));
  const std::string digits(400, '9');  // more than a double can hold
  EXPECT_THAT([&] { parse_duration_ns(digits + "s"); }, ThrowsMessage<InvalidArgument>(HasSubstr("is too long")));
  EXPECT_THAT([&] { parse_bytes(digits + "MB"); }, ThrowsMessage<InvalidArgument>(HasSubstr("is too large")));
  EXPECT_THAT([] { parse_bytes("99999999TB", "64KiB or 1MiB", "64MiB"); },
              ThrowsMessage<InvalidArgument>("'99999999TB' is too large; the maximum is 64MiB"));
  EXPECT_EQ(parse_bytes("9000000TB"), 9'000'000'000'000'000'000u);
  EXPECT_EQ(parse_duration_ns("2500000h"), 9'000'000'000'000'000'000u);
  EXPECT_THAT([] { parse_flight("99999999999GB"); }, ThrowsMessage<InvalidArgument>(HasSubstr("is too large")));
  EXPECT_THAT([] { parse_flight("0s"); }, ThrowsMessage<InvalidArgument>(HasSubstr("would keep nothing")));
}

TEST(QuantityTest, SizesAreReadInDecimalAndBinaryUnits) {
  EXPECT_EQ(parse_bytes("4096"), 4'096u);
  EXPECT_EQ(parse_bytes("64MB"), 64'000'000u);
  EXPECT_EQ(parse_bytes("1.5 GB"), 1'500'000'000u);
  EXPECT_EQ(parse_bytes("1GiB"), 1u << 30);
  EXPECT_EQ(parse_bytes("1TB"), 1'000'000'000'000u);
  EXPECT_EQ(parse_bytes("1TiB"), uint64_t{1} << 40);
  EXPECT_EQ(parse_bytes("512KiB"), 512u << 10);
}

TEST(QuantityTest, DurationsAreReadInEveryUnit) {
  EXPECT_EQ(parse_duration_ns("500ms"), 500'000'000u);
  EXPECT_EQ(parse_duration_ns("30s"), 30'000'000'000u);
  EXPECT_EQ(parse_duration_ns("2m"), 120'000'000'000u);
  EXPECT_EQ(parse_duration_ns("0.5h"), 1'800'000'000'000u);
  EXPECT_EQ(parse_duration_ns("1.5d"), 129'600'000'000'000u);
  EXPECT_EQ(parse_duration_ns("4w"), 2'419'200'000'000'000u);
}

TEST(QuantityTest, FlightIsATimeOrASize) {
  EXPECT_DOUBLE_EQ(parse_flight("30s").seconds, 30);
  EXPECT_DOUBLE_EQ(parse_flight("2m").seconds, 120);
  EXPECT_DOUBLE_EQ(parse_flight("500ms").seconds, 0.5);
  EXPECT_EQ(parse_flight("64MB").bytes, 64'000'000u);
  EXPECT_EQ(parse_flight("1GiB").bytes, 1u << 30);
  EXPECT_EQ(parse_flight("1GiB").seconds, 0);
}

TEST(QuantityTest, ErrorForAnInvalidValueShowsTheValueAndTheValidForms) {
  for (const char* bad : {"", "x", "30", "-5s", "5 parsecs", "1e3s", "inf", "nan s", "0s", "99999999999GB"}) {
    EXPECT_THAT([&] { parse_flight(bad); },
                ThrowsMessage<InvalidArgument>(AllOf(HasSubstr(bad), HasSubstr("30s"), HasSubstr("64MB"))))
        << bad;
  }
  EXPECT_THAT([] { parse_bytes("1 mile"); }, ThrowsMessage<InvalidArgument>(HasSubstr("'1 mile' is not a size")));
  EXPECT_THAT([] { parse_duration_ns("64MB"); }, ThrowsMessage<InvalidArgument>(HasSubstr("'64MB' is not a time")));
}

}  // namespace
}  // namespace kymo::base
