#include "collect/refusals.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "record/refusal.h"

namespace kymo::collect {
namespace {

TEST(RefusalsTest, TheRecorderReceivesThePidAndTheReason) {
  const SessionId session = new_session_id();
  Refusals refusals(session);
  EXPECT_TRUE(refusals.take().empty());
  const pid_t child = fork();
  if (child == 0) {
    record::send_refusal(session.bytes, "no room");
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  record::send_refusal(session.bytes, std::string(2000, 'x').c_str());
  const auto received = refusals.take();
  ASSERT_EQ(received.size(), 2u);
  EXPECT_EQ(received[0].pid, static_cast<uint64_t>(child));
  EXPECT_EQ(received[0].why, "no room");
  EXPECT_EQ(received[1].pid, static_cast<uint64_t>(getpid()));
  EXPECT_EQ(received[1].why, std::string(record::kMaxRefusalBytes, 'x'));
  EXPECT_TRUE(refusals.take().empty());
}

TEST(RefusalsTest, SendingWithoutARecorderDoesNotWait) { record::send_refusal(new_session_id().bytes, "no room"); }

}  // namespace
}  // namespace kymo::collect
