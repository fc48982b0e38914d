// Backends that are compiled without the edge profiler. This file is compiled separately from other files: see
// CMakeLists.txt.
#define KYMO_NO_EDGE

#include <gtest/gtest.h>

#include "edge/test_module.h"
#include "kymo/edge.h"

namespace kymo {
namespace {

TEST(NoEdgeTest, MacrosDoNotEvaluateTheirArguments) {
  const edge::testing::TestModule module;
  EdgeProfiler profiler(module, {.profile_memory = true});
  int evaluated = 0;
  [[maybe_unused]] const auto count = [&] { return ++evaluated; };
  KYMO_RECORD_BACKEND_EVENT(count(), count(), 1, "event", "backend");
  KYMO_RECORD_BACKEND_MEMORY_EVENT(nullptr, count(), 0, 0);
  KYMO_RECORD_BACKEND_EVENT(this does not even compile);
  EXPECT_EQ(evaluated, 0);
  const EdgeResult result = profiler.disable_profiler();
  EXPECT_TRUE(result.events().empty());
  EXPECT_TRUE(result.allocations().empty());
}

}  // namespace
}  // namespace kymo
