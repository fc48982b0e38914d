#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "edge/build.h"
#include "edge/log.h"
#include "kymo/edge_engine.h"

namespace stack_names_test {

// The functions that begin operations. Not inlined, so that their names are on the stack.
[[gnu::noinline]] void run_layer() {
  kymo::edge::Operation operation("layer");
  asm volatile("");
}
[[gnu::noinline]] void run_model() {
  run_layer();
  asm volatile("");
}

}  // namespace stack_names_test

namespace kymo::edge {
namespace {

class StackNamesTest : public ::testing::Test {
 protected:
  StackNamesTest() : log_(Log::make({.wanted = {}, .stacks = true, .events = {}}, nullptr)) {}
  ~StackNamesTest() override { log_->release(); }

  EdgeResult stop(bool stack) {
    log_->stop();
    return EdgeResult(build_result(log_->contents(), Module{}, {.stack = stack}));
  }

  Log* log_;
};

TEST_F(StackNamesTest, StackBeginsWithTheFunctionThatBeganTheOperation) {
#if !KYMO_HAVE_DW
  GTEST_SKIP() << "built without libdw: a program's own functions have no names";
#endif
  {
    const AdoptedLog adopted(log_);
    stack_names_test::run_model();
  }
  const EdgeResult result = stop(true);
  ASSERT_EQ(result.events().size(), 1u);
  const std::vector<EdgeFrame> stack = result.stack(result.events()[0]);
  ASSERT_GE(stack.size(), 2u);
  EXPECT_THAT(stack[0].function, ::testing::HasSubstr("stack_names_test::run_layer"));
  EXPECT_THAT(stack[1].function, ::testing::HasSubstr("stack_names_test::run_model"));
  EXPECT_THAT(stack[0].module, ::testing::HasSubstr("edge_test"));
}

TEST_F(StackNamesTest, EqualStacksAreStoredOnce) {
  {
    const AdoptedLog adopted(log_);
    for (int i = 0; i < 10; ++i) stack_names_test::run_model();
    stack_names_test::run_layer();
  }
  const EdgeResult result = stop(true);
  EXPECT_EQ(result.events().size(), 11u);
  EXPECT_EQ(result.data()->stacks.size(), 2u);
  EXPECT_EQ(result.events()[0].stack, result.events()[9].stack);
  EXPECT_NE(result.events()[0].stack, result.events()[10].stack);
}

TEST_F(StackNamesTest, StacksAreNotNamedIfNotRequested) {
  {
    const AdoptedLog adopted(log_);
    stack_names_test::run_model();
  }
  const EdgeResult result = stop(false);
  EXPECT_EQ(result.events()[0].stack, EdgeEvent::kNone);
  EXPECT_TRUE(result.data()->stacks.empty());
}

}  // namespace
}  // namespace kymo::edge
