#include "base/iteration_name.h"

#include <gtest/gtest.h>

namespace kymo::base {
namespace {

TEST(IterationNameTest, StepsAndIterationsAreIterations) {
  for (const char* const name : {"step", "step 7", "Step_3", "iteration {}", "ProfilerStep#12", "STEP"})
    EXPECT_TRUE(names_iteration(name)) << name;
  for (const char* const name : {"stepper", "a step", "iterations", "", "ste"})
    EXPECT_FALSE(names_iteration(name)) << name;
}

TEST(IterationNameTest, IterationsThatDifferInTheirNumbersHaveOneName) {
  EXPECT_EQ(without_iteration_number("step 7"), "step {}");
  EXPECT_EQ(without_iteration_number("step 12"), "step {}");
  EXPECT_EQ(without_iteration_number("ProfilerStep#12"), "ProfilerStep#{}");
  for (const char* const name : {"step", "step {}", "step 7 of epoch", "layer 7", "gemm_128", "", "7"})
    EXPECT_EQ(without_iteration_number(name), name);
}

}  // namespace
}  // namespace kymo::base
