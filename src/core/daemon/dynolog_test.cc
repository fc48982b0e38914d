// The daemon as a replacement for dynolog. Test versions of libkineto and dyno, written from the protocol, talk to it
// in their own network namespace.
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/text.h"
#include "daemon/test_support.h"
#include "wire/config.h"
#include "wire/dyno/test_dyno.h"
#include "wire/fabric.h"

namespace kymo::daemon {
namespace {

using testing::call;
using testing::Child;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kOtherUser;
using testing::TestDaemon;
using testing::TestFolder;
using testing::TestKineto;
using testing::TestPeer;
using testing::trace_into;
using wire::RequestState;

class DynologTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0 || !testing::enter_own_network()) GTEST_SKIP() << "needs root, for a network of its own";
    folder.emplace();
    daemon.emplace(*folder, [](DaemonOptions& options) { options.dynolog = true; });
  }
  static std::string request(const std::string& log_file, int64_t job = 0) {
    wire::GpuTraceOptions options;
    options.log_file = log_file;
    options.job = job;
    return wire::rpc_request(*wire::gputrace_request(options));
  }
  static wire::RpcTriggered triggered(const std::string& json) {
    const auto reply = call(wire::kRpcPort, json);
    EXPECT_TRUE(reply) << json;
    const auto read = wire::read_rpc_triggered(reply.value_or(""));
    EXPECT_TRUE(read) << read.reason();
    return read ? *read : wire::RpcTriggered();
  }

  std::optional<TestFolder> folder;
  std::optional<TestDaemon> daemon;
};

TEST_F(DynologTest, ProgramThatPollsIsListedAndCanBeTriggeredByDyno) {
  TestKineto program;
  EXPECT_EQ(program.poll(), "");
  TestPeer command = TestPeer::tool(daemon->socket());
  const auto entries = command.list();
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].pid, getpid());
  EXPECT_EQ(entries[0].protocol, wire::Protocol::Kineto);

  const auto reply = triggered(request("/tmp/x.json"));
  EXPECT_THAT(reply.matched, ElementsAre(getpid()));
  EXPECT_THAT(reply.activities_triggered, ElementsAre(getpid()));
  const auto again = triggered(request("/tmp/x.json"));
  EXPECT_THAT(again.activities_triggered, IsEmpty());
  EXPECT_EQ(again.activities_busy, 1u);

  EXPECT_EQ(program.poll(wire::kFabricEvents), "");  // its profiler is busy: the config waits
  const auto config = program.poll(wire::kFabricEvents | wire::kFabricActivities);
  ASSERT_TRUE(config);
  EXPECT_THAT(*config, HasSubstr("\n    ACTIVITIES_LOG_FILE=/tmp/x.json\n"));
  EXPECT_THAT(*config, HasSubstr("\n    REQUEST_TRACE_ID="));
  EXPECT_EQ(program.poll(), "");  // only once
}

TEST_F(DynologTest, KymoTriggerReachesAKinetoProgramAndReportsItsFile) {
  TestKineto program;
  program.poll();
  TestPeer command = TestPeer::tool(daemon->socket());
  command.send(trace_into(folder->file("trace.kymo")));
  const auto reply = command.expect<wire::TriggerReply>();
  ASSERT_EQ(reply->targets.size(), 1u);
  const std::string path = folder->file("trace_" + std::to_string(getpid()) + ".json");
  EXPECT_EQ(reply->targets[0].path, path);
  const auto config = wire::read_config(program.poll().value_or("="));
  ASSERT_TRUE(config.request) << config.reason();
  EXPECT_EQ(wire::output_path(*config.request, getpid()), path);
  EXPECT_EQ(config.request->duration_ms, 1000u);
  EXPECT_EQ(command.expect<wire::TriggerUpdate>()->state, RequestState::Recording);
  program.poll(0);
  std::ofstream(path) << "{}";
  program.poll();
  const auto update = command.expect<wire::TriggerUpdate>();
  EXPECT_EQ(update->state, RequestState::Finished);
  EXPECT_EQ(update->path, path);
  EXPECT_EQ(update->bytes, 2u);
  EXPECT_EQ(update->events, wire::kUnknownCount);
}

TEST_F(DynologTest, MissingTraceFileIsReportedAsFailed) {
  TestKineto program;
  program.poll();
  TestPeer command = TestPeer::tool(daemon->socket());
  command.send(trace_into(folder->file("trace.kymo")));
  command.expect<wire::TriggerReply>();
  program.poll();
  EXPECT_EQ(command.expect<wire::TriggerUpdate>()->state, RequestState::Recording);
  program.poll(0);
  for (int i = 0; i < 3; ++i) program.poll();
  const auto update = command.expect<wire::TriggerUpdate>();
  EXPECT_EQ(update->state, RequestState::Failed);
  EXPECT_THAT(update->text, HasSubstr("has not written " + folder->file("trace_")));
}

TEST_F(DynologTest, RequestThatWasNotPolledYetCanBeCancelled) {
  TestKineto program;
  program.poll();
  TestPeer command = TestPeer::tool(daemon->socket());
  command.send(trace_into("/tmp/x.json"));
  const auto reply = command.expect<wire::TriggerReply>();
  command.send(wire::CancelTrigger{reply->trigger_id});
  EXPECT_EQ(command.expect<wire::TriggerReply>()->targets.size(), 1u);
  EXPECT_EQ(command.expect<wire::TriggerUpdate>()->state, RequestState::Cancelled);
  EXPECT_EQ(program.poll(), "");
}

TEST_F(DynologTest, DynoAlsoTriggersProgramsWithAKymoAgent) {
  TestPeer program = TestPeer::agent(daemon->socket(), "train");
  EXPECT_THAT(triggered(request("/tmp/a.b.json")).activities_triggered, ElementsAre(getpid()));
  const auto start = program.expect<wire::Start>();
  ASSERT_TRUE(start);
  EXPECT_EQ(start->options.output, "/tmp/a.b_{pid}.json");
  EXPECT_EQ(start->options.format, wire::TraceFormat::KinetoJson);
  EXPECT_EQ(start->options.duration_ns, 500'000'000u);
}

TEST_F(DynologTest, NegativeLimitMeansAllAndALimitThatIsReachedHidesBusyPrograms) {
  TestPeer one = TestPeer::agent(daemon->socket(), "one");
  const auto with_limit = [](int limit) {
    return triggered(base::format(
        R"({{"config":"ACTIVITIES_LOG_FILE=/tmp/x.json","fn":"setKinetOnDemandRequest","pids":[],"process_limit":{}}})",
        limit));
  };
  EXPECT_THAT(with_limit(0).matched, ElementsAre(getpid()));
  EXPECT_THAT(with_limit(0).activities_triggered, IsEmpty());
  EXPECT_THAT(with_limit(-1).activities_triggered, ElementsAre(getpid()));
  const auto start = one.expect<wire::Start>();
  ASSERT_TRUE(start);
  one.send(wire::Status{start->id, RequestState::Recording, 0, ""});
  TestPeer command = TestPeer::tool(daemon->socket());
  ASSERT_TRUE(testing::wait_until([&] { return command.list().at(0).request_id != 0; }));
  EXPECT_EQ(with_limit(-1).activities_busy, 1u);
  EXPECT_EQ(with_limit(0).activities_busy, 0u);
}

TEST_F(DynologTest, JobIdsHave64Bits) {
  TestKineto program;
  program.poll(wire::kFabricActivities, 5'000'000'000);
  EXPECT_THAT(triggered(request("/tmp/x.json")).matched, IsEmpty());
  EXPECT_THAT(triggered(request("/tmp/x.json", 5'000'000'000)).matched, ElementsAre(getpid()));
}

TEST_F(DynologTest, ARegistrationIsAnsweredWithTheNumberOfProcesses) {
  TestKineto program;
  program.send(wire::FabricContext{0, getpid(), 0});
  const auto reply = program.receive();
  ASSERT_TRUE(reply);
  EXPECT_EQ(std::get<wire::FabricRegistered>(*reply).count, 1);
}

TEST_F(DynologTest, TheOtherCallsAreAnswered) {
  EXPECT_EQ(call(wire::kRpcPort, R"({"fn":"getStatus"})"), R"({"status":1})");
  EXPECT_THAT(call(wire::kRpcPort, R"({"fn":"getVersion"})").value_or(""), HasSubstr("version"));
  EXPECT_EQ(call(wire::kRpcPort, R"({"fn":"dcgmProfResume"})"), R"({"status":false})");
  EXPECT_EQ(call(wire::kRpcPort, R"({"fn":"nothing"})"), std::nullopt);
  EXPECT_EQ(call(wire::kRpcPort, R"({"fn":"setKinetOnDemandRequest"})"), R"({"status":"failed"})");
}

TEST_F(DynologTest, InvalidConfigIsRefusedAndNotForwarded) {
  TestKineto program;
  program.poll();
  const auto reply =
      call(wire::kRpcPort, R"({"config":"ACTIVITIES_DURATION_MSECS=x","fn":"setKinetOnDemandRequest","pids":[0]})");
  EXPECT_THAT(reply.value_or(""), HasSubstr("failed with exception"));
  EXPECT_EQ(program.poll(), "");
}

TEST_F(DynologTest, AnotherUserGetsNoConfigAndCannotTrigger) {
  TestKineto program;
  program.poll();
  Child other(
      [&] {
        EXPECT_THAT(triggered(request("/tmp/x.json")).matched, IsEmpty());
        // Forged: the other user's pid in its own request.
        TestKineto forger;
        forger.send(wire::FabricPoll{wire::kFabricActivities, 0, {getppid()}});
        EXPECT_FALSE(forger.receive(200));
        EXPECT_EQ(forger.poll(), "");
        EXPECT_THAT(triggered(request("/tmp/x.json")).matched, ElementsAre(getpid()));
        return ::testing::Test::HasFailure() ? 1 : 0;
      },
      kOtherUser);
  EXPECT_EQ(other.wait(), 0);
  EXPECT_EQ(program.poll(), "");
}

TEST_F(DynologTest, SocketsInAFolderWorkLikeAbstractSockets) {
  TestFolder other;
  std::filesystem::create_directory(other.file("ipc"));
  TestDaemon in_folder(other, [&](DaemonOptions& options) {
    options.dynolog = true;
    options.dynolog_folder = other.file("ipc");
    options.dynolog_addresses = "127.0.0.1:1779";
  });
  TestKineto program(other.file("ipc"));
  EXPECT_EQ(program.poll(), "");
  wire::GpuTraceOptions options;
  options.log_file = "/tmp/x.json";
  ASSERT_TRUE(call(1779, wire::rpc_request(*wire::gputrace_request(options))));
  EXPECT_THAT(program.poll().value_or(""), HasSubstr("ACTIVITIES_LOG_FILE"));
  EXPECT_EQ(in_folder.stop(), 0);
  EXPECT_FALSE(std::filesystem::exists(other.file("ipc/dynolog")));
}

TEST_F(DynologTest, TakenNameDoesNotBlockKymosProtocolAndIsUsedWhenItIsFree) {
  const TestFolder other;
  TestDaemon second(other, [](DaemonOptions& options) { options.dynolog = true; });
  EXPECT_THAT(second.log(), HasSubstr("@dynolog: another daemon is already there; kymod tries again"));
  const TestPeer program = TestPeer::agent(second.socket(), "train");
  TestPeer command = TestPeer::tool(second.socket());
  EXPECT_THAT(command.names(), ElementsAre("train"));
  daemon->stop();
  EXPECT_TRUE(testing::wait_until([&] { return second.log().find("are served at @dynolog") != std::string::npos; }));
  TestKineto kineto;
  EXPECT_EQ(kineto.poll(), "");
}

}  // namespace
}  // namespace kymo::daemon
