#include <gtest/gtest.h>
#include <ucontext.h>

#include <memory>
#include <thread>
#include <vector>

#include "edge/log.h"

namespace kymo::edge {
namespace {

int static_object = 0;

TEST(StackObjectTest, VariablesOfCallersAreOnTheStack) {
  int here = 0;
  EXPECT_TRUE(is_on_this_stack(&here));
  std::vector<char> large(1 << 20);
  EXPECT_FALSE(is_on_this_stack(large.data()));
  [&] { EXPECT_TRUE(is_on_this_stack(&here)); }();
  std::thread([] {
    int there = 0;
    EXPECT_TRUE(is_on_this_stack(&there));
  }).join();
}

TEST(StackObjectTest, OtherObjectsAreNotOnTheStack) {
  static int local_static = 0;
  static thread_local int of_thread = 0;
  const auto heap = std::make_unique<int>();
  EXPECT_FALSE(is_on_this_stack(&static_object));
  EXPECT_FALSE(is_on_this_stack(&local_static));
  EXPECT_FALSE(is_on_this_stack(&of_thread));
  EXPECT_FALSE(is_on_this_stack(heap.get()));
  EXPECT_FALSE(is_on_this_stack(nullptr));
}

TEST(StackObjectTest, StackOfAnotherThreadIsNotThisStack) {
  int here = 0;
  std::thread([&] { EXPECT_FALSE(is_on_this_stack(&here)); }).join();
}

ucontext_t main_context, own_context;
bool own_object, heap_object;

void on_own_stack() {
  int here = 0;
  const auto heap = std::make_unique<std::vector<char>>(1 << 20);
  own_object = is_on_this_stack(&here);
  heap_object = is_on_this_stack(heap->data() + (1 << 19));
  swapcontext(&own_context, &main_context);
}

TEST(StackObjectTest, StackCreatedByTheProgramCounts) {
  std::vector<char> stack(1 << 16);
  ASSERT_EQ(getcontext(&own_context), 0);
  own_context.uc_stack.ss_sp = stack.data();
  own_context.uc_stack.ss_size = stack.size();
  own_context.uc_link = nullptr;
  makecontext(&own_context, on_own_stack, 0);
  ASSERT_EQ(swapcontext(&main_context, &own_context), 0);
  EXPECT_TRUE(own_object);
  EXPECT_FALSE(heap_object);
}

}  // namespace
}  // namespace kymo::edge
