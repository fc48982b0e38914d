// A real daemon with programs and commands: which messages each of them gets while the others act.
#include <sys/stat.h>

#include <csignal>
#include <fstream>
#include <set>

#include "daemon/test_support.h"
#include "daemon/triggers.h"

namespace kymo::daemon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::TestDaemon;
using testing::TestFolder;
using testing::TestPeer;
using testing::trace_into;
using ::testing::UnorderedElementsAre;
using wire::RequestState;

class ServeTest : public ::testing::Test {
 protected:
  // A program answers a Start as an agent would.
  static void finish(TestPeer& agent, const std::string& path, uint64_t events) {
    const auto start = agent.expect<wire::Start>();
    ASSERT_TRUE(start);
    agent.send(wire::Status{start->id, RequestState::Recording, 500, ""});
    agent.send(wire::Done{{.path = path, .bytes = 10, .events = events}, start->id});
  }

  static void finish_started(TestPeer& agent, uint64_t id) { agent.send(wire::Done{{.path = "/tmp/x.kymo"}, id}); }

  TestFolder folder;
  TestDaemon daemon{folder};
};

TEST_F(ServeTest, ProgramIsListedWithItsFacts) {
  const TestPeer program = TestPeer::agent(daemon.socket(), "train", "job7");
  TestPeer command = TestPeer::tool(daemon.socket());
  const auto entries = command.list();
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].pid, getpid());
  EXPECT_EQ(entries[0].uid, geteuid());
  EXPECT_EQ(entries[0].name, "train");
  EXPECT_EQ(entries[0].job, "job7");
  EXPECT_EQ(entries[0].protocol, wire::Protocol::Kymo);
  EXPECT_EQ(entries[0].request_id, 0u);
  EXPECT_GT(entries[0].started_at_ns, 0u);
}

TEST_F(ServeTest, ProgramThatDisconnectsIsNoLongerListed) {
  TestPeer program = TestPeer::agent(daemon.socket(), "train");
  TestPeer command = TestPeer::tool(daemon.socket());
  EXPECT_THAT(command.names(), ElementsAre("train"));
  program.close();
  EXPECT_TRUE(testing::wait_until([&] { return command.names().empty(); }));
}

TEST_F(ServeTest, TriggerReachesAllProgramsAndTheCommandGetsTheirUpdates) {
  TestPeer one = TestPeer::agent(daemon.socket(), "one"), two = TestPeer::agent(daemon.socket(), "two");
  TestPeer command = TestPeer::tool(daemon.socket());
  command.send(trace_into("/tmp/{name}-{pid}-{time}.kymo"), 5);
  const auto reply = command.expect<wire::TriggerReply>();
  ASSERT_TRUE(reply);
  ASSERT_EQ(reply->targets.size(), 2u);
  EXPECT_EQ(reply->targets[0].pid, getpid());
  EXPECT_THAT(reply->targets[0].path, HasSubstr("/tmp/one-" + std::to_string(getpid()) + "-20"));
  finish(one, "/tmp/one.kymo", 100);
  finish(two, "/tmp/two.kymo", 200);
  std::set<uint64_t> events;
  uint32_t left = 2;
  while (left > 0) {
    const auto packet = command.receive();
    ASSERT_TRUE(packet);
    EXPECT_EQ(packet->serial, 5u);
    const auto& update = std::get<wire::TriggerUpdate>(packet->message);
    EXPECT_EQ(update.trigger_id, reply->trigger_id);
    left = update.targets_left;
    if (update.state == RequestState::Finished) events.insert(update.events);
  }
  EXPECT_THAT(events, UnorderedElementsAre(100u, 200u));
}

TEST_F(ServeTest, TimeInTheOutputPatternIsFilledInByTheDaemon) {
  TestPeer program = TestPeer::agent(daemon.socket(), "one");
  TestPeer command = TestPeer::tool(daemon.socket());
  command.send(trace_into("/tmp/{{time}}-{time}-{pid}.kymo"));
  const auto start = program.expect<wire::Start>();
  ASSERT_TRUE(start);
  EXPECT_THAT(start->options.output,
              ::testing::MatchesRegex("/tmp/\\{\\{time\\}\\}-[0-9]+-[0-9]+\\.[0-9]+-\\{pid\\}\\.kymo"));
}

TEST_F(ServeTest, ReplySaysWhyNoProgramMatches) {
  TestPeer command = TestPeer::tool(daemon.socket());
  const auto why = [&](const wire::Selection& selection) {
    wire::Trigger trigger = trace_into("/tmp/x.kymo");
    trigger.selection = selection;
    command.send(trigger);
    const auto reply = command.expect<wire::TriggerReply>();
    EXPECT_EQ(reply->trigger_id, 0u);
    return reply->text;
  };
  EXPECT_THAT(why({}), HasSubstr("no program is connected"));
  const TestPeer program = TestPeer::agent(daemon.socket(), "train", "7");
  EXPECT_THAT(why({{}, {"eval"}, {}}), HasSubstr("no program is called eval; connected: train"));
  EXPECT_THAT(why({{}, {}, "8"}), HasSubstr("no program belongs to job 8; connected: job 7"));
  EXPECT_THAT(why({{1}, {}, {}}), HasSubstr("kymo doctor 1"));
  EXPECT_THAT(why({{999'999'999}, {}, {}}), HasSubstr("there is no process 999999999"));
}

TEST_F(ServeTest, APythonProgramHasTheNameOfItsScript) {
  const auto selected_by = [](const std::string& command_line, const std::string& name) {
    return selects({.names = {name}}, {.name = "python3.11", .command_line = command_line});
  };
  EXPECT_TRUE(selected_by("/usr/bin/python3.11 -X importtime /home/a/train.py --lr 3", "train.py"));
  EXPECT_TRUE(selected_by("python3 -u train.py", "train*"));
  EXPECT_TRUE(selected_by("python3 -m train --lr 3", "train"));
  EXPECT_TRUE(selected_by("python3 train.py", "python3.11"));
  EXPECT_FALSE(selected_by("python3 other.py train.py", "train.py"));
  EXPECT_FALSE(selected_by("python3 -c pass train.py", "train.py"));
  EXPECT_FALSE(selected_by("/bin/cat train.py", "train.py"));
  EXPECT_FALSE(selected_by("python3", "*.py"));
}

TEST_F(ServeTest, OutputWithDotDotIsRefused) {
  TestPeer command = TestPeer::tool(daemon.socket());
  command.send(trace_into("/tmp/../etc/passwd"), 3);
  const auto packet = command.receive();
  ASSERT_TRUE(packet);
  EXPECT_EQ(packet->serial, 3u);
  EXPECT_THAT(std::get<wire::Refused>(packet->message).text, HasSubstr("must not contain \"..\""));
}

TEST_F(ServeTest, TargetOfADeadProgramFailsAndItsPartialTraceIsReported) {
  TestPeer program = TestPeer::agent(daemon.socket(), "train");
  TestPeer command = TestPeer::tool(daemon.socket());
  const std::string output = folder.file("trace.kymo");
  command.send(trace_into(output));
  const auto reply = command.expect<wire::TriggerReply>();
  ASSERT_EQ(reply->targets.size(), 1u);
  const std::string part = reply->targets[0].path + ".part";
  std::ofstream(part) << "events";
  program.close();
  const auto update = command.expect<wire::TriggerUpdate>();
  ASSERT_TRUE(update);
  EXPECT_EQ(update->state, RequestState::Failed);
  EXPECT_EQ(update->path, part);
  EXPECT_EQ(update->bytes, 6u);
  EXPECT_EQ(update->targets_left, 0u);
  EXPECT_EQ(update->text, "it died; what it recorded before is in " + part);
}

TEST_F(ServeTest, TriggerContinuesAfterItsCommandDisconnects) {
  TestPeer program = TestPeer::agent(daemon.socket(), "train");
  {
    TestPeer command = TestPeer::tool(daemon.socket());
    command.send(trace_into("/tmp/x.kymo"));
    command.expect<wire::TriggerReply>();
  }
  finish(program, "/tmp/x.kymo", 1);
  EXPECT_TRUE(testing::wait_until([&] { return daemon.log().find("1 finished") != std::string::npos; }));
  EXPECT_THAT(TestPeer::tool(daemon.socket()).names(), ElementsAre("train"));
}

TEST_F(ServeTest, CommandThatLeavesBeforeItReadsItsUpdatesIsNotAProblem) {
  TestPeer program = TestPeer::agent(daemon.socket(), "train");
  for (int i = 0; i < 20; ++i) {
    TestPeer command = TestPeer::tool(daemon.socket());
    command.send(trace_into("/tmp/x.kymo"));
    command.expect<wire::TriggerReply>();
    const auto start = program.expect<wire::Start>();
    ASSERT_TRUE(start);
    for (uint32_t progress = 0; progress < 500; progress += 100)
      program.send(wire::Status{start->id, RequestState::Recording, progress, ""});
    command.close();
    finish_started(program, start->id);
  }
  EXPECT_TRUE(testing::wait_until([&] { return daemon.log().find("trigger 20: 1 finished") != std::string::npos; }));
  EXPECT_EQ(daemon.log().find("was closed"), std::string::npos) << daemon.log();
}

TEST_F(ServeTest, LastMessageOfAProgramThatDisconnectedIsRead) {
  for (int i = 0; i < 20; ++i) {
    TestPeer command = TestPeer::tool(daemon.socket());
    TestPeer program = TestPeer::agent(daemon.socket(), "train");
    command.send(trace_into("/tmp/x.kymo"));
    command.expect<wire::TriggerReply>();
    const auto start = program.expect<wire::Start>();
    ASSERT_TRUE(start);
    program.send(wire::List{});  // it does not read the answer
    finish_started(program, start->id);
    program.close();
    const auto update = command.expect<wire::TriggerUpdate>();
    ASSERT_TRUE(update);
    EXPECT_EQ(update->state, RequestState::Finished) << update->text;
    ASSERT_TRUE(testing::wait_until([&] { return command.names().empty(); }));
  }
}

TEST_F(ServeTest, CancelledTriggerEndsWhenItsProgramsConfirm) {
  TestPeer program = TestPeer::agent(daemon.socket(), "train");
  TestPeer command = TestPeer::tool(daemon.socket()), other = TestPeer::tool(daemon.socket());
  command.send(trace_into("/tmp/x.kymo"));
  const auto reply = command.expect<wire::TriggerReply>();
  other.send(wire::CancelTrigger{reply->trigger_id});
  const auto cancelled = other.expect<wire::TriggerReply>();
  EXPECT_EQ(cancelled->targets.size(), 1u);
  const auto start = program.expect<wire::Start>();
  EXPECT_EQ(program.expect<wire::Cancel>()->id, start->id);
  program.send(wire::Done{{.state = RequestState::Cancelled}, start->id});
  EXPECT_EQ(command.expect<wire::TriggerUpdate>()->state, RequestState::Cancelled);
  other.send(wire::CancelTrigger{reply->trigger_id});
  EXPECT_THAT(other.expect<wire::TriggerReply>()->text, HasSubstr("or has ended"));
}

TEST_F(ServeTest, OnlyTheRequestedProgramCanAnswer) {
  TestPeer asked = TestPeer::agent(daemon.socket(), "asked"), forger = TestPeer::agent(daemon.socket(), "forger");
  TestPeer command = TestPeer::tool(daemon.socket());
  wire::Trigger trigger = trace_into("/tmp/x.kymo");
  trigger.selection.names = {"asked"};
  command.send(trigger);
  command.expect<wire::TriggerReply>();
  const auto start = asked.expect<wire::Start>();
  forger.send(wire::Done{{.path = "/etc/passwd", .bytes = 1}, start->id});
  forger.send(wire::List{});
  forger.expect<wire::Refused>();
  asked.send(wire::Done{{.path = "/tmp/true.kymo"}, start->id});
  EXPECT_EQ(command.expect<wire::TriggerUpdate>()->path, "/tmp/true.kymo");
}

TEST_F(ServeTest, RequestsReportedAfterARestartAreBusyAndCanBeCancelled) {
  uint64_t id = 0;
  {
    TestPeer program = TestPeer::agent(daemon.socket(), "train");
    TestPeer command = TestPeer::tool(daemon.socket());
    command.send(trace_into("/tmp/x.kymo"));
    id = program.expect<wire::Start>()->id;
  }
  daemon.restart(SIGKILL);
  TestPeer program = TestPeer::agent(daemon.socket(), "train");
  program.send(wire::Status{id, RequestState::Recording, 100, ""});
  TestPeer command = TestPeer::tool(daemon.socket());
  ASSERT_TRUE(testing::wait_until([&] { return command.list().at(0).request_id == id; }));
  command.send(wire::CancelTrigger{trigger_of(id)});
  EXPECT_EQ(command.expect<wire::TriggerReply>()->targets.size(), 1u);
  EXPECT_EQ(program.expect<wire::Cancel>()->id, id);
  // Trigger numbers continue after those of the last daemon.
  command.send(trace_into("/tmp/y.kymo"));
  EXPECT_GT(command.expect<wire::TriggerReply>()->trigger_id, trigger_of(id));
}

TEST_F(ServeTest, SecondDaemonIsRefusedAndAStoppedDaemonRemovesItsSocket) {
  DaemonOptions options;
  options.socket = daemon.socket();
  try {
    serve(options);
    FAIL() << "it serves";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("another kymod is already listening there (process " + std::to_string(daemon.pid()) + ")"));
  }
  EXPECT_EQ(daemon.stop(), 0);
  struct stat status {};
  EXPECT_NE(lstat(options.socket.c_str(), &status), 0);
}

TEST_F(ServeTest, TriggerReaches200ProgramsAtOnce) {
  std::vector<TestPeer> programs;
  for (int i = 0; i < 200; ++i) programs.push_back(TestPeer::agent(daemon.socket(), std::string(300, 'x')));
  TestPeer command = TestPeer::tool(daemon.socket());
  EXPECT_EQ(command.list().size(), 200u);
  command.send(trace_into("/tmp/{request}.kymo"));
  size_t targets = 0;
  for (bool more = true; more;) {
    const auto reply = command.expect<wire::TriggerReply>();
    ASSERT_TRUE(reply);
    targets += reply->targets.size();
    more = reply->more;
  }
  EXPECT_EQ(targets, 200u);
  for (TestPeer& program : programs) finish(program, "/tmp/x.kymo", 1);
  size_t finished = 0;
  while (finished < 200) {
    const auto update = command.expect<wire::TriggerUpdate>();
    ASSERT_TRUE(update);
    finished += update->state == RequestState::Finished;
  }
}

}  // namespace
}  // namespace kymo::daemon
