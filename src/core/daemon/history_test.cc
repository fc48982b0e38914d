// The outcomes of triggers whose command did not wait, and recordings that are stopped and kept.
#include "daemon/test_support.h"
#include "daemon/triggers.h"

namespace kymo::daemon {
namespace {

using testing::Child;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kOtherUser;
using testing::TestDaemon;
using testing::TestFolder;
using testing::TestPeer;
using testing::trace_into;
using wire::RequestState;

TEST(HistoryTest, OldEntriesOfAUserMakeRoomForNewOnesOfTheSameUser) {
  History history;
  history.add({{}, 1, 1, 7});
  for (uint64_t i = 0; i < History::kMaxPerUser + 10; ++i) history.add({{}, 100 + i, 2, 8});
  std::vector<wire::HistoryEntry> all, of_eight;
  history.list(0, Asker{0}, all);
  EXPECT_EQ(all.size(), History::kMaxPerUser + 1);
  EXPECT_EQ(all.front().trigger_id, 1u);
  history.list(0, Asker{8}, of_eight);
  EXPECT_EQ(of_eight.size(), History::kMaxPerUser);
  EXPECT_EQ(of_eight.front().trigger_id, 110u);
}

class HistoryServeTest : public ::testing::Test {
 protected:
  static std::vector<wire::HistoryEntry> history(TestPeer& command, uint64_t trigger_id = 0) {
    command.send(wire::History{trigger_id});
    const auto reply = command.expect<wire::HistoryReply>();
    return reply ? reply->entries : std::vector<wire::HistoryEntry>();
  }
  TestFolder folder;
  TestDaemon daemon{folder};
};

TEST_F(HistoryServeTest, OutcomeOfATriggerCanBeSeenLater) {
  TestPeer program = TestPeer::agent(daemon.socket(), "train");
  TestPeer command = TestPeer::tool(daemon.socket());
  EXPECT_THAT(history(command), IsEmpty());
  wire::Trigger trigger = trace_into("/tmp/x.kymo");
  trigger.follow = false;
  command.send(trigger);
  const auto reply = command.expect<wire::TriggerReply>();
  const auto start = program.expect<wire::Start>();
  ASSERT_TRUE(start);
  EXPECT_EQ(start->pid, getpid());
  EXPECT_GT(start->asked_at_ns.value_or(0), 0u);
  ASSERT_EQ(history(command).size(), 1u);
  EXPECT_EQ(history(command)[0].state, RequestState::Queued);
  program.send(wire::Done{{.path = "/tmp/x.kymo", .bytes = 5, .events = 6, .late_ns = 8}, start->id});
  ASSERT_TRUE(testing::wait_until([&] { return history(command).at(0).state == RequestState::Finished; }));
  const auto entry = history(command, reply->trigger_id).at(0);
  EXPECT_EQ(entry.name, "train");
  EXPECT_EQ(entry.pid, getpid());
  EXPECT_EQ(entry.path, "/tmp/x.kymo");
  EXPECT_EQ(entry.bytes, 5u);
  EXPECT_EQ(entry.events, 6u);
  EXPECT_EQ(entry.late_ns, 8);
  EXPECT_GE(entry.ended_at_ns, entry.asked_at_ns);
  EXPECT_THAT(history(command, reply->trigger_id + 1), IsEmpty());
}

TEST_F(HistoryServeTest, ReasonOfAFailureCanBeSeenLater) {
  TestPeer command = TestPeer::tool(daemon.socket());
  {
    TestPeer program = TestPeer::agent(daemon.socket(), "train");
    command.send(trace_into("/tmp/x.kymo"));
    command.expect<wire::TriggerReply>();
    program.expect<wire::Start>();
  }
  EXPECT_EQ(command.expect<wire::TriggerUpdate>()->state, RequestState::Failed);
  EXPECT_THAT(history(command).at(0).text, HasSubstr("it died"));
}

TEST_F(HistoryServeTest, OtherUsersSeeNothingOfIt) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to be somebody else";
  TestPeer program = TestPeer::agent(daemon.socket(), "train");
  TestPeer command = TestPeer::tool(daemon.socket());
  command.send(trace_into("/tmp/x.kymo"));
  command.expect<wire::TriggerReply>();
  EXPECT_EQ(history(command).size(), 1u);
  Child other(
      [&] {
        TestPeer stranger = TestPeer::tool(daemon.socket());
        EXPECT_THAT(history(stranger), IsEmpty());
        return ::testing::Test::HasFailure() ? 1 : 0;
      },
      kOtherUser);
  EXPECT_EQ(other.wait(), 0);
}

TEST_F(HistoryServeTest, ARequestToKeepWhatWasRecordedReachesTheProgram) {
  TestPeer program = TestPeer::agent(daemon.socket(), "train");
  TestPeer command = TestPeer::tool(daemon.socket());
  command.send(trace_into("/tmp/x.kymo"));
  const auto reply = command.expect<wire::TriggerReply>();
  const auto start = program.expect<wire::Start>();
  command.send(wire::CancelTrigger{reply->trigger_id, true});
  EXPECT_EQ(command.expect<wire::TriggerReply>()->targets.size(), 1u);
  const auto cancel = program.expect<wire::Cancel>();
  ASSERT_TRUE(cancel);
  EXPECT_EQ(cancel->id, start->id);
  EXPECT_TRUE(cancel->keep);
}

TEST_F(HistoryServeTest, ExceptedProcessesAreNotSelected) {
  const TestPeer program = TestPeer::agent(daemon.socket(), "train");
  TestPeer command = TestPeer::tool(daemon.socket());
  wire::Trigger trigger = trace_into("/tmp/x.kymo");
  trigger.selection.except = {getpid()};
  command.send(trigger);
  EXPECT_THAT(command.expect<wire::TriggerReply>()->targets, IsEmpty());
}

}  // namespace
}  // namespace kymo::daemon
