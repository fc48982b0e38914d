// Without requests, the agent's thread does not run at all, with or without a daemon.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/test_wait.h"
#include "ondemand/agent.h"
#include "ondemand/test_daemon.h"

namespace kymo::ondemand {
namespace {

class AgentIdleTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/kymo-agent-idle-XXXXXX";
    folder = mkdtemp(pattern);
    socket = folder + "/run/d.sock";
  }
  void TearDown() override {
    if (agent != nullptr) agent->stop(testing::kLimitMs);
    std::filesystem::remove_all(folder);
  }
  void start_agent() {
    agent = new Agent({.daemon = socket});  // its last instructions may outlive the test
    agent->start();
  }

  static std::string first_line(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
  }
  // How many times it has gone to sleep so far.
  static uint64_t sleeps() {
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
      if (first_line(entry.path() / "comm") != "kymo-agent") continue;
      std::ifstream status(entry.path() / "status");
      for (std::string line; std::getline(status, line);)
        if (line.starts_with("voluntary_ctxt_switches:")) return std::stoull(line.substr(line.find(':') + 1));
    }
    return 0;
  }
  // Waits until its work at start is done.
  static uint64_t sleeps_when_settled() {
    uint64_t before = 0, now = 0;
    base::wait_until("the agent to rest", [&] {
      before = now;
      usleep(50'000);
      now = sleeps();
      return now != 0 && now == before;
    });
    return now;
  }

  // True if there is a time of this length in which it does not wake up. On a busy machine its work at start may take
  // long, so several such times are tried. An agent that polls has none.
  static bool rests_for(useconds_t microseconds) {
    for (int i = 0; i < 100; ++i) {
      const uint64_t before = sleeps_when_settled();
      usleep(microseconds);
      if (sleeps() == before) return true;
    }
    return false;
  }

  std::string folder, socket;
  Agent* agent = nullptr;
};

TEST_F(AgentIdleTest, ConnectedAgentSleepsUntilAMessageArrives) {
  std::filesystem::create_directory(folder + "/run");
  testing::StandInDaemon daemon(socket);
  start_agent();
  auto connection = daemon.accept_agent();
  ASSERT_TRUE(connection);
  EXPECT_TRUE(rests_for(400'000));
  connection->send(wire::Cancel{5});
  EXPECT_TRUE(connection->next_of<wire::Refused>());
}

TEST_F(AgentIdleTest, AgentWithoutADaemonSleepsUntilOneStarts) {
  start_agent();
  EXPECT_TRUE(rests_for(400'000));
  std::filesystem::create_directory(folder + "/run");
  testing::StandInDaemon daemon(socket);
  EXPECT_TRUE(daemon.accept_agent());
}

TEST_F(AgentIdleTest, DeadDaemonIsNotPolled) {
  std::filesystem::create_directory(folder + "/run");
  testing::StandInDaemon daemon(socket);
  daemon.stop_listening();  // the socket file remains
  start_agent();
  EXPECT_TRUE(rests_for(700'000)) << "it tries a few times, for a daemon that is about to listen, and then stops";
  daemon.listen_there();
  EXPECT_TRUE(daemon.accept_agent());
}

}  // namespace
}  // namespace kymo::ondemand
