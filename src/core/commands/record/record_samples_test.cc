#include "commands/record/record_samples.h"

#include <gtest/gtest.h>

#include "kymo/error.h"

namespace kymo::cli {
namespace {

TEST(SampleRateTest, RatesAndUnits) {
  EXPECT_EQ(parse_sample_rate("1kHz"), 1000u);
  EXPECT_EQ(parse_sample_rate("10khz"), 10'000u);
  EXPECT_EQ(parse_sample_rate("0.5kHz"), 500u);
  EXPECT_EQ(parse_sample_rate("250Hz"), 250u);
  EXPECT_EQ(parse_sample_rate("99"), 99u);
  EXPECT_EQ(parse_sample_rate("off"), 0u);
}

TEST(SampleRateTest, OtherTextsAreRefused) {
  for (const char* const text : {"", "fast", "kHz", "1MHz", "-5", "0", "0.5", "51kHz", "nan", "inf", "1e99", "1 kHz"})
    EXPECT_THROW(parse_sample_rate(text), InvalidArgument) << text;
}

}  // namespace
}  // namespace kymo::cli
