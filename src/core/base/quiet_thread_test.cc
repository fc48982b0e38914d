#include "base/quiet_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>

namespace kymo::base {
namespace {

TEST(QuietThreadTest, BlocksSignalsInTheThreadButNotInItsParent) {
  sigset_t before, after, inside;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  std::string name(16, '\0');
  quiet_thread("kymo-test", [&] {
    pthread_sigmask(SIG_SETMASK, nullptr, &inside);
    pthread_getname_np(pthread_self(), name.data(), name.size());
  }).join();
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGPROF}) {
    EXPECT_EQ(sigismember(&inside, signal), 1) << signal;
    EXPECT_EQ(sigismember(&after, signal), sigismember(&before, signal)) << signal;
  }
  EXPECT_EQ(sigismember(&inside, SIGBUS), 0);
  EXPECT_STREQ(name.c_str(), "kymo-test");
}

}  // namespace
}  // namespace kymo::base
