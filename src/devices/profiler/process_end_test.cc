// SIGINT, tested in separate processes.
#include "profiler/process_end.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "kymo/profiler.h"

namespace kymo::profiler {
namespace {

using ::testing::Eq;
using ::testing::ExitedWithCode;
using ::testing::HasSubstr;
using ::testing::KilledBySignal;
using ::testing::Not;

constexpr const char* kTables = "Kymo profiler: no copies were logged\n";

volatile sig_atomic_t calls_of_handler = 0;
void plain_handler(int) { calls_of_handler = calls_of_handler + 1; }

void detailed_handler(int number, siginfo_t* info, void* context) {
  if (number == SIGINT && info->si_pid == getpid() && context != nullptr) calls_of_handler = calls_of_handler + 1;
}

void install_handler(int flags) {
  struct sigaction action {};
  if ((flags & SA_SIGINFO) != 0)
    action.sa_sigaction = detailed_handler;
  else
    action.sa_handler = plain_handler;
  action.sa_flags = flags;
  sigaction(SIGINT, &action, nullptr);
}

[[noreturn]] void exit_with(int wanted_calls) { exit(calls_of_handler == wanted_calls ? 0 : 1); }
[[noreturn]] void sleep_until_killed() {
  while (true) sleep(1);
}

// Each test starts a new process, because a forked process does not have the threads of its parent.
class ProfilerInterruptDeathTest : public ::testing::Test {
 protected:
  ProfilerInterruptDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(ProfilerInterruptDeathTest, WithoutAHandlerTheProcessPrintsAndDies) {
  EXPECT_EXIT(
      {
        signal(SIGINT, SIG_DFL);  // drivers may have installed one
        profiler::set_log("copy-statistics");
        raise(SIGINT);
        sleep_until_killed();
      },
      KilledBySignal(SIGINT), HasSubstr(kTables));
}

TEST_F(ProfilerInterruptDeathTest, TablesArePrintedBeforeAHandlerThatEndsTheProcess) {
  EXPECT_EXIT(
      {
        struct sigaction action {};
        action.sa_handler = [](int) { _exit(3); };
        action.sa_flags = static_cast<int>(SA_RESETHAND);
        sigaction(SIGINT, &action, nullptr);
        profiler::set_log("copy-statistics");
        raise(SIGINT);
      },
      ExitedWithCode(3), HasSubstr(kTables));
}

TEST_F(ProfilerInterruptDeathTest, HandlerIsCalledAsItWasInstalled) {
  EXPECT_EXIT(
      {
        install_handler(SA_SIGINFO);
        profiler::set_log("copy-statistics");
        raise(SIGINT);
        raise(SIGINT);
        exit_with(2);
      },
      ExitedWithCode(0), HasSubstr(kTables));
}

TEST_F(ProfilerInterruptDeathTest, OneShotHandlerIsCalledOnce) {
  EXPECT_EXIT(
      {
        install_handler(static_cast<int>(SA_RESETHAND));
        profiler::set_log("copy-statistics");
        raise(SIGINT);
        if (calls_of_handler != 1) exit(1);
        raise(SIGINT);
        sleep_until_killed();
      },
      KilledBySignal(SIGINT), HasSubstr(kTables));
}

TEST_F(ProfilerInterruptDeathTest, IgnoredSignalStaysIgnored) {
  EXPECT_EXIT(
      {
        signal(SIGINT, SIG_IGN);
        profiler::set_log("copy-statistics");
        raise(SIGINT);
        exit_with(0);
      },
      ExitedWithCode(0), HasSubstr(kTables));
}

TEST_F(ProfilerInterruptDeathTest, PreviousHandlerIsRestoredWhenNothingNeedsPrinting) {
  EXPECT_EXIT(
      {
        install_handler(0);
        profiler::set_log("statistics");
        profiler::set_log("operations");
        struct sigaction now {};
        sigaction(SIGINT, nullptr, &now);
        raise(SIGINT);
        exit(now.sa_handler == plain_handler && calls_of_handler == 1 ? 0 : 1);
      },
      ExitedWithCode(0), Not(HasSubstr("were logged")));
}

TEST_F(ProfilerInterruptDeathTest, HandlerInstalledLaterReplacesKymos) {
  EXPECT_EXIT(
      {
        profiler::set_log("copy-statistics");
        install_handler(0);
        raise(SIGINT);
        profiler::set_log("");
        raise(SIGINT);
        exit_with(2);
      },
      ExitedWithCode(0), Not(HasSubstr("were logged")));
}

TEST_F(ProfilerInterruptDeathTest, TablesArePrintedOnceIfTheProcessContinues) {
  EXPECT_EXIT(
      {
        install_handler(0);
        profiler::set_log("copy-statistics");
        for (int i = 0; i < 5; ++i) raise(SIGINT);
        exit_with(5);
      },
      ExitedWithCode(0), Eq(kTables));
}

}  // namespace
}  // namespace kymo::profiler
