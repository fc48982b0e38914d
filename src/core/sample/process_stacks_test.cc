#include "sample/process_stacks.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "kymo/error.h"

namespace kymo::sample {
namespace {

pthread_mutex_t test_lock = PTHREAD_MUTEX_INITIALIZER;

// Not inlined and not a tail call, so that they are in the stack.
__attribute__((noinline)) void wait_for_the_test_lock() {
  pthread_mutex_lock(&test_lock);
  asm volatile("");
}
__attribute__((noinline)) void sleep_for_ever() {
  for (;;) pause();
}

void* second_thread(void*) {
  wait_for_the_test_lock();
  return nullptr;
}

[[noreturn]] void run_child() {
  pthread_mutex_lock(&test_lock);
  pthread_t other;
  pthread_create(&other, nullptr, second_thread, nullptr);
  sleep_for_ever();
  _exit(0);
}

bool has(const ThreadStack& thread, std::string_view function) {
  return std::ranges::any_of(
      thread.frames, [&](const symbols::Frame& frame) { return frame.function.find(function) != std::string::npos; });
}

class ProcessStacksTest : public ::testing::Test {
 protected:
  void SetUp() override {
    child_ = fork();
    if (child_ == 0) run_child();
  }
  void TearDown() override {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }

  struct Stacks {
    uint64_t stopped_ns = 0;
    ThreadStack holder, waiting;
  };

  // Of the child, as soon as both of its threads wait. A sanitizer may have a thread of its own there.
  Stacks stacks() const {
    constexpr int kTries = 6'000;
    for (int i = 0; i < kTries; ++i) {
      const ProcessStacks all = stacks_of_process(child_);
      const auto holder = std::ranges::find_if(all.threads, [](const auto& one) { return has(one, "sleep_for_ever"); });
      const auto waiting =
          std::ranges::find_if(all.threads, [](const auto& one) { return one.blocked && one.blocked->of; });
      if (holder != all.threads.end() && waiting != all.threads.end()) return {all.stopped_ns, *holder, *waiting};
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ADD_FAILURE() << "the child did not come to its waits in 60 s";
    return {};
  }

  pid_t child_ = 0;
};

TEST_F(ProcessStacksTest, AThreadThatWaitsForAMutexNamesTheThreadThatHoldsIt) try {
  const auto [stopped_ns, holder, waiting] = stacks();
  ASSERT_TRUE(waiting.blocked);
  EXPECT_EQ(holder.tid, child_);
  EXPECT_EQ(waiting.blocked->call, "futex");
  EXPECT_TRUE(waiting.blocked->object.starts_with("mutex ")) << waiting.blocked->object;
  EXPECT_EQ(waiting.blocked->of, child_);
  EXPECT_TRUE(has(waiting, "wait_for_the_test_lock"));
  EXPECT_TRUE(waiting.is_complete);
  EXPECT_GT(stopped_ns, 0u);
} catch (const NotAvailable& refused) {
  GTEST_SKIP() << refused.what();
}

TEST_F(ProcessStacksTest, TheProcessGoesOn) try {
  stacks();
  kill(child_, SIGTERM);  // it has no handler
  int status = 0;
  ASSERT_EQ(waitpid(child_, &status, 0), child_);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
} catch (const NotAvailable& refused) {
  GTEST_SKIP() << refused.what();
}

TEST(NoProcessStacksTest, AProcessThatDoesNotExistIsAnError) {
  EXPECT_THROW(stacks_of_process(INT32_MAX), Error);
  EXPECT_THROW(stacks_of_process(0), Error);
}

}  // namespace
}  // namespace kymo::sample
