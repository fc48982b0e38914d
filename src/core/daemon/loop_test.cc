#include "daemon/loop.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <optional>
#include <string>

#include "daemon/log.h"
#include "daemon/test_support.h"

namespace kymo::daemon {
namespace {

using std::chrono::milliseconds;

class LoopTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(pipe(ends), 0); }
  void TearDown() override {
    close(ends[0]);
    close(ends[1]);
  }
  Log log{true};
  Loop loop{log};
  int ends[2] = {};
};

TEST_F(LoopTest, DeadlinesFireInOrderAndCancelledOnesDoNotFire) {
  std::string order;
  const auto now = Loop::Clock::now();
  const auto third = loop.at(now + milliseconds(3), [&] {
    order += '3';
    loop.stop();
  });
  const auto first = loop.at(now + milliseconds(1), [&] { order += '1'; });
  auto second = loop.at(now + milliseconds(2), [&] { order += '2'; });
  second.reset();
  loop.run();
  EXPECT_EQ(order, "13");
}

TEST_F(LoopTest, AHandlerMayEndItsOwnWatchAndOthers) {
  int other[2];
  ASSERT_EQ(pipe(other), 0);
  ASSERT_EQ(write(ends[1], "x", 1), 1);
  ASSERT_EQ(write(other[1], "x", 1), 1);
  int called = 0;
  Loop::Watch one, two;
  const auto end_both = [&](uint32_t) {
    ++called;
    one.reset();
    two.reset();
    loop.stop();
  };
  one = loop.watch(ends[0], EPOLLIN, end_both);
  two = loop.watch(other[0], EPOLLIN, end_both);
  loop.run();
  EXPECT_EQ(called, 1);
  close(other[0]);
  close(other[1]);
}

TEST_F(LoopTest, ExceptionOfAHandlerIsLoggedAndTheLoopContinues) {
  ::testing::internal::CaptureStderr();
  const auto now = Loop::Clock::now();
  const auto thrown = loop.at(now, [] { throw std::runtime_error("broken"); });
  const auto after = loop.at(now + milliseconds(1), [&] { loop.stop(); });
  loop.run();
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "kymod: broken\n");
}

TEST_F(LoopTest, LaterRunsAfterTheCurrentRound) {
  std::string order;
  const auto timer = loop.in(milliseconds(0), [&] {
    loop.later([&] {
      order += "later";
      loop.stop();
    });
    order += "now ";
  });
  loop.run();
  EXPECT_EQ(order, "now later");
}

TEST(LogTest, WarningsAreRateLimitedAndControlCharactersAreReplaced) {
  ::testing::internal::CaptureStderr();
  Log log;
  for (int i = 0; i < 100; ++i) log.warn("a\x1b[31mb\nc");
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_LT(std::count(said.begin(), said.end(), '\n'), 15);
  EXPECT_EQ(said.substr(0, said.find('\n')), "kymod: a?[31mb?c");
}

}  // namespace
}  // namespace kymo::daemon
