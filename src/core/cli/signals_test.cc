#include "cli/signals.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

namespace kymo::cli {
namespace {

using namespace std::chrono_literals;

TEST(SignalsTest, SignalIsReadAndDoesNotKill) {
  SignalInbox inbox({SIGUSR1, SIGTERM});
  ::kill(::getpid(), SIGTERM);
  const auto message = inbox.wait(1000ms);
  ASSERT_TRUE(message.has_value());
  EXPECT_EQ(message->signal, SIGTERM);
  EXPECT_TRUE(message->from_process);
}

TEST(SignalsTest, WaitTimesOutWithoutASignal) {
  SignalInbox inbox({SIGUSR1});
  EXPECT_FALSE(inbox.wait(1ms).has_value());
}

TEST(SignalsTest, MaskIsRestoredAndProgramsGetTheOriginalMask) {
  sigset_t mask;
  {
    SignalInbox inbox({SIGUSR1});
    const sigset_t program_mask = inbox.program_mask();
    EXPECT_EQ(sigismember(&program_mask, SIGUSR1), 0);
    EXPECT_EQ(sigismember(&program_mask, SIGPIPE), 0);
    EXPECT_EQ(sigismember(&program_mask, SIGXFSZ), 0);
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    EXPECT_EQ(sigismember(&mask, SIGUSR1), 1);
  }
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  EXPECT_EQ(sigismember(&mask, SIGUSR1), 0);
}

}  // namespace
}  // namespace kymo::cli
