// The agent as a thread of the test's own process, together with threads that record and call step().
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "kymo/annotate.h"
#include "kymo/ondemand.h"
#include "kymo/session.h"
#include "ondemand/agent.h"
#include "ondemand/test_daemon.h"
#include "ondemand/test_program.h"

namespace kymo::ondemand {
namespace {

class AgentThreadTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/kymo-agent-thread-XXXXXX";
    folder = mkdtemp(pattern);
    daemon.emplace(folder + "/d.sock");
    agent = new Agent({.daemon = folder + "/d.sock"});  // its last instructions may outlive the test
    agent->start();
    for (int i = 0; i < 3; ++i)
      threads.emplace_back([this] {
        while (!over) {
          step();
          KYMO_RANGE("work");
          usleep(100);
        }
      });
  }
  void TearDown() override {
    over = true;
    for (std::thread& thread : threads) thread.join();
    agent->stop(testing::kLimitMs);
    std::filesystem::remove_all(folder);
  }

  std::string folder;
  std::optional<testing::StandInDaemon> daemon;
  Agent* agent = nullptr;
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
};

TEST_F(AgentThreadTest, TracesByTimeAndByIterationsAlternate) {
  auto connection = daemon->accept_agent();
  ASSERT_TRUE(connection);
  for (uint64_t id = 1; id <= 6; ++id) {
    wire::Start start{id, {.output = folder + "/a{request}.kymo"}};
    (id % 2 == 0 ? start.options.duration_ns : start.options.iterations) = id % 2 == 0 ? 20'000'000 : 20;
    connection->send(start);
    const auto done = connection->next_of<wire::Done>();
    ASSERT_TRUE(done);
    EXPECT_EQ(done->id, id);
    EXPECT_EQ(done->state, wire::RequestState::Finished) << done->text;
    if (start.options.iterations != 0) {
      EXPECT_GT(done->events, 0u);
    }
  }
}

TEST_F(AgentThreadTest, OnlyOneOfCodeAndRequestRecordsAtATime) {
  auto connection = daemon->accept_agent();
  ASSERT_TRUE(connection);
  start(folder + "/code.kymo");
  connection->send(wire::Start{1, {.duration_ns = 1'000'000, .output = folder + "/a.kymo"}});
  const auto refused = connection->next_of<wire::Done>();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->state, wire::RequestState::Failed);
  EXPECT_NE(refused->text.find("code.kymo"), std::string::npos) << refused->text;
  { KYMO_RANGE("of the code"); }
  stop();
  EXPECT_EQ(testing::names_in_trace(folder + "/code.kymo")["of the code"], 1u);
  EXPECT_THROW(stop(), Error);
  connection->send(wire::Start{2, {.duration_ns = 1'000'000'000'000, .output = folder + "/a.kymo"}});
  ASSERT_TRUE(connection->reaches(wire::RequestState::Recording));
  EXPECT_THROW(start(folder + "/code2.kymo"), Error);
  EXPECT_FALSE(std::filesystem::exists(folder + "/code2.kymo.part"));
  connection->send(wire::Cancel{2});
  EXPECT_EQ(connection->next_of<wire::Done>()->state, wire::RequestState::Cancelled);
}

TEST_F(AgentThreadTest, RequestsAreAnsweredWhileTheProgramStartsSessions) {
  auto connection = daemon->accept_agent();
  ASSERT_TRUE(connection);
  std::thread program([&] {
    for (int i = 0; i < 20 && !over; ++i) {
      Session(folder + "/own.kymo").close();
      usleep(3000);
    }
  });
  for (uint64_t id = 1; id <= 10; ++id) {
    connection->send(wire::Start{id, {.duration_ns = 5'000'000, .output = folder + "/a.kymo"}});
    EXPECT_TRUE(connection->next_of<wire::Done>());  // it may finish, end early or be refused, but is always answered
  }
  program.join();
}

class AgentThreadFlightTest : public AgentThreadTest {
 protected:
  void SetUp() override {
    setenv("KYMO_FLIGHT", "1MB", 1);
    AgentThreadTest::SetUp();
  }
  void TearDown() override {
    AgentThreadTest::TearDown();
    unsetenv("KYMO_FLIGHT");
  }
};

TEST_F(AgentThreadFlightTest, RequestsAreAnsweredWithAFlightRecorderAndProgramSessions) {
  auto connection = daemon->accept_agent();
  ASSERT_TRUE(connection);
  for (uint64_t id = 1; id <= 9; ++id) {
    wire::Start asked{id, {.output = folder + "/a{request}.kymo"}};
    (id % 3 == 0 ? asked.options.last_ns : asked.options.duration_ns) = 20'000'000;
    connection->send(asked);
    if (id % 3 != 2) Session(folder + "/own.kymo").close();
    EXPECT_TRUE(connection->next_of<wire::Done>());  // it may finish, end early or be refused, but is always answered
  }
}

}  // namespace
}  // namespace kymo::ondemand
