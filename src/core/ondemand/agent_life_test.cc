// What happens to a trace when the daemon ends, or when the program ends, forks, or starts its own recording.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "base/test_wait.h"
#include "collect/recording.h"
#include "collect/recover.h"
#include "kymo/session.h"
#include "ondemand/test_program.h"
#include "record/clock.h"
#include "trace/reader.h"

namespace kymo::ondemand {
namespace {

using testing::kMs;
using testing::names_in_trace;
using testing::Program;
using testing::work_in_ranges;
using wire::RequestState;

using AgentLifeTest = testing::WithDaemon;

TEST_F(AgentLifeTest, ReconnectsToARestartedDaemonAndReportsTheRunningJob) {
  Program program(socket, work_in_ranges);
  auto agent = daemon->accept_agent();
  ASSERT_TRUE(agent);
  agent->send(start_for(60'000));
  ASSERT_TRUE(agent->reaches(RequestState::Recording));
  daemon->stop_listening();
  agent->hang_up();
  daemon->listen_there();
  agent = daemon->accept_agent();
  ASSERT_TRUE(agent);
  EXPECT_TRUE(agent->reaches(RequestState::Recording)) << "its state is reported to the new daemon";
  EXPECT_EQ(program.end(), 0);
  const auto done = agent->next_of<wire::Done>();
  ASSERT_TRUE(done);
  EXPECT_EQ(done->id, 7u);
  EXPECT_EQ(done->state, RequestState::Finished) << done->text;
}

TEST_F(AgentLifeTest, UnsentResultIsSentToTheNextDaemon) {
  Program program(socket, work_in_ranges);
  auto agent = daemon->accept_agent();
  ASSERT_TRUE(agent);
  agent->send(start_for(300));
  ASSERT_TRUE(agent->reaches(RequestState::Recording));
  daemon->stop_listening();
  agent->hang_up();
  const std::vector<std::string> trace{"a-" + std::to_string(program.pid()) + ".kymo"};
  base::wait_until("the trace, and no other file", [&] { return files_there() == trace; });
  daemon->listen_there();
  agent = daemon->accept_agent();
  ASSERT_TRUE(agent);
  const auto done = agent->next_of<wire::Done>();
  ASSERT_TRUE(done);
  EXPECT_EQ(done->state, RequestState::Finished) << done->text;
}

TEST_F(AgentLifeTest, FindsADaemonThatStartsLater) {
  daemon->stop_listening();
  unlink(socket.c_str());
  Program program(socket, work_in_ranges);
  daemon->listen_there();
  EXPECT_TRUE(daemon->accept_agent());
}

TEST_F(AgentLifeTest, ForkedChildHasItsOwnAgentAndItsOwnTrace) {
  Program program(socket, [](const std::atomic<bool>& over) {
    const pid_t child = fork();
    if (child == 0) prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (!over) {
      Range range{child == 0 ? "child" : "parent"};
      usleep(200);
    }
    if (child == 0) _exit(0);
    kill(child, SIGUSR1);
    waitpid(child, nullptr, 0);
  });
  wire::Hello first, second;
  auto one = daemon->accept_agent(&first), other = daemon->accept_agent(&second);
  ASSERT_TRUE(one && other);
  EXPECT_NE(first.pid, second.pid);
  if (first.pid != program.pid()) std::swap(one, other), std::swap(first, second);
  EXPECT_EQ(first.pid, program.pid());
  one->send(start_for(100, 1));
  other->send(start_for(100, 2));
  const auto parents = one->next_of<wire::Done>(), childs = other->next_of<wire::Done>();
  ASSERT_TRUE(parents && childs);
  EXPECT_EQ(parents->state, RequestState::Finished) << parents->text;
  EXPECT_EQ(childs->state, RequestState::Finished) << childs->text;
  EXPECT_TRUE(names_in_trace(parents->path).contains("parent"));
  EXPECT_TRUE(names_in_trace(childs->path).contains("child"));
}

TEST_F(AgentLifeTest, ChildForkedDuringATraceIsNotInTheTrace) {
  Program program(socket, [](const std::atomic<bool>& over) {
    while (!over) {
      KYMO_RANGE("parent");
      const pid_t child = fork();
      if (child == 0) {
        mark("in the child");
        _exit(0);
      }
      waitpid(child, nullptr, 0);
      usleep(2000);
    }
  });
  auto agent = daemon->accept_agent();
  ASSERT_TRUE(agent);
  agent->send(start_for(200));
  const auto done = agent->next_of<wire::Done>();
  ASSERT_TRUE(done);
  ASSERT_EQ(done->state, RequestState::Finished) << done->text;
  EXPECT_EQ(trace::Reader(done->path).writers().size(), 1u);
}

TEST_F(AgentLifeTest, TraceOfAProgramThatEndsIsCompletedAndReported) {
  Program program(socket, [](const std::atomic<bool>& over) {
    work_in_ranges(over);
    for (int i = 0; i < 10; ++i) Range last{"work"};
  });
  auto agent = daemon->accept_agent();
  ASSERT_TRUE(agent);
  agent->send(start_for(60'000));
  ASSERT_TRUE(agent->reaches(RequestState::Recording));
  EXPECT_EQ(program.end(), 0);
  const auto done = agent->next_of<wire::Done>();
  ASSERT_TRUE(done);
  EXPECT_EQ(done->state, RequestState::Finished) << done->text;
  EXPECT_NE(done->text.find("the program has ended"), std::string::npos) << done->text;
  EXPECT_GT(names_in_trace(done->path)["work"], 0u);
  EXPECT_FALSE(agent->next()) << "it hangs up";
}

TEST_F(AgentLifeTest, KilledProgramLeavesItsPartialTrace) {
  Program program(socket, [this](const std::atomic<bool>& over) {
    base::wait_until("the file begun", [this] {
      const Range range{"early"};  // perhaps before the window
      return std::filesystem::exists(file("begun"));
    });
    for (int i = 0; i < 10; ++i) Range range{"work"};
    std::ofstream(file("ready")) << "now";
    work_in_ranges(over);
  });
  const std::string part = file("a-" + std::to_string(program.pid()) + ".kymo.part");
  auto agent = daemon->accept_agent();
  ASSERT_TRUE(agent);
  agent->send(start_for(60'000));
  ASSERT_TRUE(agent->reaches(RequestState::Recording));
  const auto window = [&part] {
    const trace::Reader reader(part);
    return reader.writers().empty() ? std::nullopt : reader.writers().begin()->second.window;
  };
  base::wait_until("the window in the trace", [&] { return window().has_value(); });
  std::ofstream(file("begun")) << "now";
  wait_for_file("ready");
  EXPECT_EQ(program.end(SIGKILL), -1);
  while (agent->next()) {
  }
  ASSERT_TRUE(std::filesystem::exists(part));
  EXPECT_NE(window()->from_ns, 0u);
  EXPECT_EQ(window()->to_ns, 0u) << "its end was not reached";
  // Every command that opens the file does this.
  EXPECT_EQ(collect::recover(part).processes, 1u);
  EXPECT_GE(names_in_trace(part)["work"], 10u);
}

TEST_F(AgentLifeTest, ProgramsOwnSessionEndsARequestedTrace) {
  Program program(socket, [this](const std::atomic<bool>& over) {
    base::wait_until("the recording", is_recording);
    for (int i = 0; !over; ++i) {
      KYMO_RANGE("work");
      usleep(200);
      if (i == 10) Session(file("own.kymo")).close();
    }
  });
  auto agent = daemon->accept_agent();
  ASSERT_TRUE(agent);
  agent->send(start_for(60'000));
  const auto done = agent->next_of<wire::Done>();
  ASSERT_TRUE(done);
  EXPECT_NE(done->text.find("a recording of its own"), std::string::npos) << done->text;
  EXPECT_EQ(program.end(), 0);
  EXPECT_TRUE(std::filesystem::exists(file("own.kymo")));
}

TEST_F(AgentLifeTest, RequestDuringTheProgramsOwnSessionIsRefused) {
  Program program(socket, [this](const std::atomic<bool>& over) {
    Session session(file("own.kymo"));
    work_in_ranges(over);
  });
  auto agent = daemon->accept_agent();
  ASSERT_TRUE(agent);
  wait_for_file("own.kymo");
  agent->send(start_for(10));
  const auto done = agent->next_of<wire::Done>();
  ASSERT_TRUE(done);
  EXPECT_EQ(done->state, RequestState::Failed);
  EXPECT_NE(done->text.find("own.kymo"), std::string::npos) << done->text;
}

}  // namespace
}  // namespace kymo::ondemand
