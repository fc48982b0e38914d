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

}  // namespace
}  // namespace kymo::base
