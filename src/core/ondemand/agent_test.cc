// What the agent does when a trace is requested: real processes, with a daemon that the test simulates.
#include "ondemand/agent.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/clock.h"
#include "kymo/session.h"
#include "ondemand/test_program.h"

namespace kymo::ondemand {
namespace {

using testing::kMs;
using testing::names_in_trace;
using testing::Program;
using testing::work_in_ranges;
using testing::work_in_steps;
using wire::RequestState;

using AgentTest = testing::WithDaemon;

TEST_F(AgentTest, HelloDescribesTheProgram) {
  Program program(socket, work_in_ranges);
  wire::Hello hello;
  ASSERT_TRUE(daemon->accept_agent(&hello));
  EXPECT_EQ(hello.pid, program.pid());
  EXPECT_FALSE(hello.name.empty());
  EXPECT_EQ(program.end(), 0);
}

TEST_F(AgentTest, TraceHasTheRequestedDurationAndItsResultIsReported) {
  Program program(socket, work_in_ranges);
  auto agent = daemon->accept_agent();
  ASSERT_TRUE(agent);
  std::optional<wire::Done> done;
  for (int round = 0; round < 20 && (!done || done->events == 0); ++round) {  // a busy machine may not run the program
    agent->send(start_for(200), 3);
    done = agent->next_of<wire::Done>();
    ASSERT_TRUE(done);
  }
  EXPECT_EQ(done->state, RequestState::Finished) << done->text;
  EXPECT_EQ(done->id, 7u);
  EXPECT_EQ(done->path, file("a-" + std::to_string(program.pid()) + ".kymo"));
  EXPECT_EQ(done->took_ns, 200 * kMs);
  EXPECT_EQ(done->losses, 0u);
  EXPECT_EQ(done->bytes, std::filesystem::file_size(done->path));
  EXPECT_EQ(done->events, names_in_trace(done->path).at("work"));
  struct stat status {};
  ASSERT_EQ(stat(done->path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_EQ(files_there().size(), 1u) << "nothing is left beside it";
  EXPECT_EQ(program.end(), 0);
}

TEST_F(AgentTest, TraceWithAStartTimeIsArmedEarlyAndHasExactlyThatSpan) {
  Program program(socket, work_in_ranges);
  auto agent = daemon->accept_agent();
  ASSERT_TRUE(agent);
  bool was_in_time = false;
  for (int round = 0; round < 10 && !was_in_time; ++round) {
    wire::Start start = start_for(100);
    start.options.start_at_ns = base::realtime_ns() + 300 * kMs;
    agent->send(start);
    const auto done = agent->next_of<wire::Done>();
    ASSERT_TRUE(done);
    // On a very busy machine it may start too late, or get the request when the time is over; then it reports that.
    if (done->text.find("the requested time is over") != std::string::npos) continue;
    ASSERT_EQ(done->state, RequestState::Finished) << done->text;
    EXPECT_EQ(done->took_ns, 100 * kMs);
    was_in_time = done->late_ns == 0;
    const trace::Reader reader(done->path);
    const auto& losses = reader.writers().begin()->second.losses;
    EXPECT_EQ(losses.empty(), was_in_time);
  }
  EXPECT_TRUE(was_in_time) << "it is armed before";
}

TEST_F(AgentTest, FileNameSelectsTheFormat) {
  Program program(socket, work_in_ranges);
  auto agent = daemon->accept_agent();
  ASSERT_TRUE(agent);
  for (const char* name : {"a.json", "a.json.gz", "a.pftrace", "a.csv"}) {
    wire::Start start = start_for(20);
    start.options.output = file(name);
    agent->send(start);
    const auto done = agent->next_of<wire::Done>();
    ASSERT_TRUE(done);
    EXPECT_EQ(done->state, RequestState::Finished) << done->text;
    EXPECT_GT(done->bytes, 100u);
    EXPECT_EQ(std::filesystem::file_size(done->path), done->bytes);
  }
  EXPECT_EQ(files_there().size(), 4u);
}

TEST_F(AgentTest, IterationsAreCompleteAndStartAtTheRequestedMultiple) {
  Program program(socket, work_in_steps);
  auto agent = daemon->accept_agent();
  ASSERT_TRUE(agent);
  wire::Start start{7, {.iterations = 5, .iteration_roundup = 50, .output = file("a.kymo")}};
  agent->send(start);
  const auto done = agent->next_of<wire::Done>();
  ASSERT_TRUE(done);
  ASSERT_EQ(done->state, RequestState::Finished) << done->text;
  std::vector<int> numbers;
  for (const auto& [name, count] : names_in_trace(done->path)) numbers.push_back(std::stoi(name.substr(5)));
  std::sort(numbers.begin(), numbers.end());
  // The range of the previous iteration ends, and the range of the next one begins, within a few nanoseconds of the
  // step.
  ASSERT_GE(numbers.size(), 5u);
  ASSERT_LE(numbers.size(), 6u);
  EXPECT_EQ(numbers.front() % 50, 0);
  EXPECT_EQ(numbers.back() - numbers.front() + 1, static_cast<int>(numbers.size()));
}

TEST_F(AgentTest, IterationsAreCountedByRangesIfTheProgramNeverCallsStep) {
  Program program(socket, [](const std::atomic<bool>& over) {
    for (int i = 0; !over; ++i) {
      Range iteration{"iteration {}", i};
      usleep(1000);
    }
  });
  auto agent = daemon->accept_agent();
  ASSERT_TRUE(agent);
  agent->send(wire::Start{7, {.iterations = 3, .output = file("a.kymo")}});
  const auto done = agent->next_of<wire::Done>();
  ASSERT_TRUE(done);
  ASSERT_EQ(done->state, RequestState::Finished) << done->text;
  const auto names = names_in_trace(done->path);
  EXPECT_GE(names.size(), 3u);
  EXPECT_LE(names.size(), 4u);
}

TEST_F(AgentTest, SecondRequestIsAnsweredWithBusyAndTheFirstContinues) {
  Program program(socket, work_in_ranges);
  auto agent = daemon->accept_agent();
  ASSERT_TRUE(agent);
  agent->send(start_for(60'000, 1));
  ASSERT_TRUE(agent->reaches(RequestState::Recording));
  agent->send(start_for(10, 2));
  const auto busy = agent->next_of<wire::Done>();
  ASSERT_TRUE(busy);
  EXPECT_EQ(busy->id, 2u);
  EXPECT_EQ(busy->state, RequestState::Busy);
  EXPECT_EQ(program.end(), 0);
  const auto done = agent->next_of<wire::Done>();
  ASSERT_TRUE(done);
  EXPECT_EQ(done->id, 1u);
  EXPECT_EQ(done->state, RequestState::Finished) << done->text;
}

TEST_F(AgentTest, CancelledTraceLeavesNoFile) {
  Program program(socket, work_in_ranges);
  auto agent = daemon->accept_agent();
  ASSERT_TRUE(agent);
  agent->send(start_for(60'000));
  ASSERT_TRUE(agent->reaches(RequestState::Recording));
  agent->send(wire::Cancel{7});
  const auto done = agent->next_of<wire::Done>();
  ASSERT_TRUE(done);
  EXPECT_EQ(done->state, RequestState::Cancelled);
  EXPECT_TRUE(files_there().empty());
  agent->send(wire::Cancel{7});
  EXPECT_TRUE(agent->next_of<wire::Refused>()) << "there is nothing to cancel any more";
}

TEST_F(AgentTest, UnwritableOutputIsReportedAndTheProgramContinues) {
  Program program(socket, work_in_ranges);
  auto agent = daemon->accept_agent(nullptr, {folder});
  ASSERT_TRUE(agent);
  std::ofstream(file("notes.kymo")) << "my thoughts";
  std::filesystem::create_symlink("/etc/passwd", file("link.kymo"));
  for (const std::string& path :
       {std::string("/no/such/folder/{pid}.kymo"), std::string("/tmp/{pid}.kymo"), file("notes{request}.kymo"),
        file("link{request}.kymo"), std::string("/proc/{pid}")}) {
    wire::Start start = start_for(10);
    start.options.output = path;
    if (path.find("notes") != path.npos) std::filesystem::copy_file(file("notes.kymo"), file("notes7.kymo"));
    if (path.find("link") != path.npos) std::filesystem::create_symlink("/etc/passwd", file("link7.kymo"));
    agent->send(start);
    const auto done = agent->next_of<wire::Done>();
    ASSERT_TRUE(done) << path;
    EXPECT_EQ(done->state, RequestState::Failed) << path;
    EXPECT_FALSE(done->text.empty());
  }
  agent->send(start_for(10));
  EXPECT_EQ(agent->next_of<wire::Done>()->state, RequestState::Finished);
}

TEST_F(AgentTest, UnsupportedOptionsAreRefused) {
  Program program(socket, work_in_ranges);
  auto agent = daemon->accept_agent();
  ASSERT_TRUE(agent);
  wire::Start start = start_for(10);
  start.options.flags = uint64_t{1} << 40;
  agent->send(start);
  EXPECT_EQ(agent->next_of<wire::Done>()->state, RequestState::Failed);
  start = start_for(10);
  start.options.start_at_ns = base::realtime_ns() + kMs;
  start.options.boot_id = "another host";
  agent->send(start);
  EXPECT_EQ(agent->next_of<wire::Done>()->state, RequestState::Failed);
}

TEST_F(AgentTest, InvalidMessagesAreRefusedOrOnlyCloseTheConnection) {
  Program program(socket, work_in_ranges);
  auto agent = daemon->accept_agent();
  ASSERT_TRUE(agent);
  auto packet = *wire::message_packet(start_for(10));
  packet[4] = std::byte{0xff};  // an unknown type
  agent->send_bytes(packet);
  EXPECT_TRUE(agent->next_of<wire::Refused>());
  packet = *wire::message_packet(start_for(10));
  packet.resize(packet.size() - 3);
  agent->throw_bytes(packet);
  agent->throw_bytes(std::vector<std::byte>(100, std::byte{0x41}));  // not a message
  while (agent->next()) {
  }
  agent = daemon->accept_agent();
  ASSERT_TRUE(agent) << "it comes back";
  agent->send(start_for(10));
  EXPECT_EQ(agent->next_of<wire::Done>()->state, RequestState::Finished);
}

struct Loud : Client {
  std::vector<std::string> calls;
  void init() override { calls.push_back("init"); }
  void prepare(bool shapes, bool memory, bool stack, bool flops, bool modules) override {
    calls.push_back("prepare " + std::to_string(shapes) + std::to_string(memory) + std::to_string(stack) +
                    std::to_string(flops) + std::to_string(modules));
  }
  void start() override { calls.push_back("start"); }
  void stop() override { calls.push_back("stop"); }
};

TEST_F(AgentTest, ClientsAreCalledInOrderAndStoppedWhenTheyAreRemoved) {
  Program program(socket, [](const std::atomic<bool>& over) {
    std::vector<std::string> calls;
    {
      Registration<Loud> loud;
      work_in_ranges(over);
      unregister_client(loud.client);
      calls = loud.client.calls;
    }
    EXPECT_EQ(calls, (std::vector<std::string>{"init", "prepare 10100", "start", "stop"}));
  });
  auto agent = daemon->accept_agent();
  ASSERT_TRUE(agent);
  wire::Start start = start_for(60'000);
  start.options.flags = wire::kWithShapes | wire::kWithStack;
  agent->send(start);
  ASSERT_TRUE(agent->reaches(RequestState::Recording));
  EXPECT_EQ(program.end(), 0);
  EXPECT_EQ(agent->next_of<wire::Done>()->state, RequestState::Finished);
}

struct Throwing : Client {
  void start() override { throw Error("the framework is not ready"); }
};

TEST_F(AgentTest, ExceptionOfAClientFailsTheTraceAndIsReported) {
  Program program(socket, [](const std::atomic<bool>& over) {
    static Throwing client;
    register_client(client);
    work_in_ranges(over);
  });
  auto agent = daemon->accept_agent();
  ASSERT_TRUE(agent);
  agent->send(start_for(10));
  const auto done = agent->next_of<wire::Done>();
  ASSERT_TRUE(done);
  EXPECT_EQ(done->state, RequestState::Failed);
  EXPECT_EQ(done->text, "the framework is not ready");
  EXPECT_EQ(program.end(), 0);
  EXPECT_TRUE(files_there().empty());
}

}  // namespace
}  // namespace kymo::ondemand
