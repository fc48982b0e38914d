// A daemon with another protocol version: the program prints one line for its user, and finds the next daemon.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "ondemand/test_program.h"

namespace kymo::ondemand {
namespace {

using testing::Program;
using testing::work_in_ranges;

class AgentVersionTest : public testing::WithDaemon {
 protected:
  // What a program prints if each daemon answers its Hello with this message.
  std::string printed_after(const wire::Message& answer) {
    ::testing::internal::CaptureStderr();
    {
      Program program(socket, work_in_ranges);
      for (int round = 0; round < 2; ++round) {
        auto connection = daemon->accept();
        EXPECT_TRUE(connection && connection->next_of<wire::Hello>());
        if (!connection) break;
        connection->send(answer);
        EXPECT_FALSE(connection->next()) << "it hangs up";
        EXPECT_FALSE(daemon->accept(kSilenceMs)) << "it does not ask again and again";
        daemon->stop_listening();
        daemon->listen_there();
      }
      EXPECT_TRUE(daemon->accept_agent()) << "the next one is found";
      EXPECT_EQ(program.end(), 0);
    }
    return ::testing::internal::GetCapturedStderr();
  }

  static constexpr int kSilenceMs = 200;
};

TEST_F(AgentVersionTest, RefusalTextOfTheDaemonIsPrintedOnce) {
  EXPECT_EQ(printed_after(wire::Refused{wire::RefusedCode::Version, 1, "the program has\nversion 2"}),
            "kymo: cannot use kymod: the program has\\nversion 2\n");
}

TEST_F(AgentVersionTest, WelcomeOfAnotherVersionIsRejected) {
  EXPECT_EQ(printed_after(wire::Welcome{.version = 1}),
            "kymo: cannot use kymod: kymod has version 1 of Kymo's protocol, but this program has version 3; "
            "update kymod\n");
}

}  // namespace
}  // namespace kymo::ondemand
