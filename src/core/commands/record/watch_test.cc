#include "commands/record/watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace kymo::cli {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint64_t kSecond = 1'000'000'000;

sample::SampleTotals totals(uint64_t samples, uint64_t on_ns) {
  sample::SampleTotals made;
  made.samples = samples;
  made.on_ns = on_ns;
  return made;
}

TEST(CpuTimeTest, ProgramsWithoutSamplesAreReported) {
  EXPECT_THAT(unsampled_text(2 * kSecond, totals(0, 0), 1000, true), HasSubstr("2.00 s of the 2.00 s of CPU time"));
  EXPECT_THAT(unsampled_text(2 * kSecond, totals(0, 0), 1000, true), HasSubstr("env -i"));
  EXPECT_THAT(unsampled_text(2 * kSecond, totals(1000, kSecond), 1000, false), HasSubstr("1.00 s of the 2.00 s"));
}

TEST(CpuTimeTest, WhatIsSampledOrShortIsNotReported) {
  EXPECT_THAT(unsampled_text(2 * kSecond, totals(1000, 2 * kSecond), 1000, true), IsEmpty());
  EXPECT_THAT(unsampled_text(2 * kSecond, totals(1990, 0), 1000, true), IsEmpty()) << "killed";
  EXPECT_THAT(unsampled_text(kSecond / 10, totals(0, 0), 1000, true), IsEmpty());
  EXPECT_THAT(unsampled_text(2 * kSecond, totals(0, 0), 0, true), IsEmpty()) << "no samples were wanted";
  sample::SampleTotals lossy = totals(100, 0);
  lossy.lost = 1;
  EXPECT_THAT(unsampled_text(2 * kSecond, lossy, 1000, true), IsEmpty());
}

TEST(CpuTimeTest, ARunningProcessHasATime) {
  EXPECT_GT(cpu_ns_of_process(getpid()), 0u);
  EXPECT_EQ(cpu_ns_of_process(-1), 0u);
}

}  // namespace
}  // namespace kymo::cli
