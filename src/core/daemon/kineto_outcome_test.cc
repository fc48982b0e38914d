// How a request to a program with libkineto ends: by its file, wherever that is, and by the end of its process.
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/clock.h"
#include "base/text.h"
#include "daemon/test_support.h"
#include "wire/config.h"
#include "wire/dyno/rpc.h"

namespace kymo::daemon {
namespace {

using testing::call;
using testing::Child;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::TestDaemon;
using testing::TestFolder;
using testing::TestKineto;
using testing::TestPeer;
using testing::trace_into;
using wire::RequestState;

// The file that a libkineto of today writes if it may not write the one that was requested.
std::string own_file(pid_t pid) { return base::format("/tmp/libkineto_activities_{}.json", pid); }

// Removed before and after.
class OwnFileOf {
 public:
  explicit OwnFileOf(pid_t pid) : path_(own_file(pid)) { unlink(path_.c_str()); }
  ~OwnFileOf() { unlink(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class KinetoOutcomeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0 || !testing::enter_own_network()) GTEST_SKIP() << "needs root, for a network of its own";
    folder.emplace();
    daemon.emplace(*folder, [](DaemonOptions& options) { options.dynolog = true; });
  }
  // A program that polls until it is killed.
  static int poll_for_ever() {
    TestKineto program;
    while (true) {
      if (!program.poll()) return 1;
      usleep(10'000);
    }
  }
  // The first update with a final state.
  static wire::TriggerUpdate outcome(TestPeer& command) {
    while (const auto update = command.expect<wire::TriggerUpdate>())
      if (wire::is_final(update->state)) return *update;
    return {};
  }
  static bool waits_until_recording(TestPeer& command) {
    const auto update = command.expect<wire::TriggerUpdate>();
    return update && update->state == RequestState::Recording;
  }

  std::optional<TestFolder> folder;
  std::optional<TestDaemon> daemon;
};

TEST_F(KinetoOutcomeTest, FileInTmpIsFoundIfLibkinetoDoesNotWriteElsewhere) {
  const OwnFileOf own(getpid());
  TestKineto program;
  program.poll();
  TestPeer command = TestPeer::tool(daemon->socket());
  command.send(trace_into("/var/tmp/x.json"));
  const auto reply = command.expect<wire::TriggerReply>();
  ASSERT_EQ(reply->targets.size(), 1u);
  EXPECT_EQ(reply->targets[0].path, base::format("/var/tmp/x_{}.json", getpid()));
  EXPECT_THAT(reply->targets[0].text, HasSubstr("or " + own.path()));
  program.poll();
  ASSERT_TRUE(waits_until_recording(command));
  std::ofstream(own.path()) << "{}";
  program.poll();  // it was never busy when it polled
  const auto update = outcome(command);
  EXPECT_EQ(update.state, RequestState::Finished) << update.text;
  EXPECT_EQ(update.path, own.path());
  EXPECT_EQ(update.bytes, 2u);
  EXPECT_THAT(update.text, HasSubstr("writes only below /tmp; KINETO_ONDEMAND_TRACE_DIR changes that"));
}

TEST_F(KinetoOutcomeTest, FileOfAnEarlierRequestIsNotTheResult) {
  const OwnFileOf own(getpid());
  std::ofstream(own.path()) << "{}";
  TestKineto program;
  program.poll();
  TestPeer command = TestPeer::tool(daemon->socket());
  command.send(trace_into("/var/tmp/x.json"));
  command.expect<wire::TriggerReply>();
  program.poll();
  ASSERT_TRUE(waits_until_recording(command));
  program.poll(0);
  for (int i = 0; i < 3; ++i) program.poll();
  const auto update = outcome(command);
  EXPECT_EQ(update.state, RequestState::Failed);
  EXPECT_THAT(update.text, HasSubstr(" or " + own.path()));
}

TEST_F(KinetoOutcomeTest, RecordingThatIsOverEndsEvenIfItWasNeverSeenBusy) {
  TestKineto program;
  program.poll();
  // It began and ended in the past, as libkineto sees it.
  const uint64_t start_ms = base::realtime_ns() / 1'000'000 - 9'000;
  const std::string config = base::format(
      "ACTIVITIES_LOG_FILE={}\\nPROFILE_START_TIME={}\\nACTIVITIES_DURATION_MSECS=1", folder->file("x.json"), start_ms);
  ASSERT_TRUE(
      call(wire::kRpcPort, base::format(R"({{"config":"{}","fn":"setKinetOnDemandRequest","pids":[0]}})", config)));
  for (int i = 0; i < 4; ++i) program.poll();
  EXPECT_TRUE(testing::wait_until([&] { return daemon->log().find("1 failed") != std::string::npos; }))
      << daemon->log();
}

TEST_F(KinetoOutcomeTest, KilledProgramEndsItsRequestAtOnce) {
  Child program(poll_for_ever);
  TestPeer command = TestPeer::tool(daemon->socket());
  ASSERT_TRUE(testing::wait_until([&] { return command.list().size() == 1; }));
  command.send(trace_into(folder->file("x.json")));
  command.expect<wire::TriggerReply>();
  ASSERT_TRUE(waits_until_recording(command));
  program.kill_it();
  const auto update = outcome(command);
  EXPECT_EQ(update.state, RequestState::Failed);
  EXPECT_EQ(update.text, "it ended before it wrote its trace");
  EXPECT_THAT(command.list(), IsEmpty());
}

TEST_F(KinetoOutcomeTest, ProgramThatEndsAfterItHasWrittenItsTraceHasFinished) {
  Child program(poll_for_ever);
  TestPeer command = TestPeer::tool(daemon->socket());
  ASSERT_TRUE(testing::wait_until([&] { return command.list().size() == 1; }));
  command.send(trace_into(folder->file("x.json")));
  const auto reply = command.expect<wire::TriggerReply>();
  ASSERT_TRUE(waits_until_recording(command));
  program.signal(SIGSTOP);  // it does not poll any more
  std::ofstream(reply->targets.at(0).path) << "{}";
  program.kill_it();
  const auto update = outcome(command);
  EXPECT_EQ(update.state, RequestState::Finished) << update.text;
  EXPECT_EQ(update.path, reply->targets[0].path);
}

TEST_F(KinetoOutcomeTest, DelayUntilThePollIsReportedAsLate) {
  TestKineto program;
  program.poll();
  TestPeer command = TestPeer::tool(daemon->socket());
  wire::Trigger trigger = trace_into(folder->file("x.json"));
  trigger.options.start_at_ns = base::realtime_ns() + 1'000'000;  // over before the next poll
  command.send(trigger);
  const auto reply = command.expect<wire::TriggerReply>();
  usleep(2'000);
  program.poll();
  ASSERT_TRUE(waits_until_recording(command));
  std::ofstream(reply->targets.at(0).path) << "{}";
  program.poll();
  const auto update = outcome(command);
  EXPECT_EQ(update.state, RequestState::Finished) << update.text;
  EXPECT_GE(update.late_ns, 1'000'000'000) << "libkineto itself needs two seconds";
}

TEST_F(KinetoOutcomeTest, CancelEndsTheWaitForADeliveredRequest) {
  TestKineto program;
  program.poll();
  TestPeer command = TestPeer::tool(daemon->socket()), other = TestPeer::tool(daemon->socket());
  command.send(trace_into(folder->file("x.json")));
  const auto reply = command.expect<wire::TriggerReply>();
  program.poll();
  ASSERT_TRUE(waits_until_recording(command));
  other.send(wire::CancelTrigger{reply->trigger_id, true});
  EXPECT_THAT(other.expect<wire::TriggerReply>()->targets.at(0).text, HasSubstr("libkineto cannot stop early"));
  other.send(wire::CancelTrigger{reply->trigger_id});
  EXPECT_THAT(other.expect<wire::TriggerReply>()->targets.at(0).text, HasSubstr("it may still write"));
  EXPECT_EQ(outcome(command).state, RequestState::Cancelled);
  EXPECT_EQ(command.list().at(0).request_id, 0u) << "it can be asked again";
}

}  // namespace
}  // namespace kymo::daemon
