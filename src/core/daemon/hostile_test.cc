// Peers that send wrong data, flood, send nothing or never read: they are dropped, and all others are still served.
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "daemon/connection.h"
#include "daemon/test_support.h"

namespace kymo::daemon {
namespace {

using testing::Child;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kOtherUser;
using testing::TestDaemon;
using testing::TestFolder;
using testing::TestPeer;
using testing::trace_into;

class HostileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root, to be two users";
  }
  void expect_served() {
    EXPECT_TRUE(daemon.is_alive());
    const TestPeer program = TestPeer::agent(daemon.socket(), "honest");
    EXPECT_THAT(TestPeer::tool(daemon.socket()).names(), ::testing::Contains("honest"));
  }

  TestFolder folder;
  TestDaemon daemon{folder};
};

TEST_F(HostileTest, InvalidPacketClosesTheConnection) {
  for (const size_t size : {1, 15, 16, 4096, 65537, 150'000}) {
    TestPeer peer(daemon.socket());
    peer.send_bytes(std::vector<std::byte>(size, std::byte{0x5a}));
    EXPECT_EQ(peer.expect<wire::Refused>()->code, wire::RefusedCode::Malformed) << size;
    EXPECT_TRUE(peer.has_ended()) << size;
  }
  expect_served();
}

TEST_F(HostileTest, UnknownOrMalformedMessageIsRefusedAndTheConnectionContinues) {
  TestPeer peer = TestPeer::tool(daemon.socket());
  auto unknown = *wire::message_packet(wire::History{1}, 9);
  base::store(unknown.data() + 4, uint16_t{0x7777});
  peer.send_bytes(unknown);
  EXPECT_EQ(peer.expect<wire::Refused>()->code, wire::RefusedCode::Unknown);
  auto cut = *wire::message_packet(wire::History{1}, 9);
  base::store(cut.data() + 18, uint16_t{0xffff});  // the field's length
  peer.send_bytes(cut);
  EXPECT_EQ(peer.expect<wire::Refused>()->code, wire::RefusedCode::Malformed);
  peer.send(wire::History{5}, 3);
  EXPECT_TRUE(peer.expect<wire::HistoryReply>());
}

TEST_F(HostileTest, RequestBeforeHelloIsRefused) {
  TestPeer peer(daemon.socket());
  peer.send(wire::List{});
  EXPECT_EQ(peer.expect<wire::Refused>()->code, wire::RefusedCode::NotAllowed);
  EXPECT_TRUE(peer.has_ended());
}

TEST_F(HostileTest, ProgramCannotClaimAnotherPid) {
  TestPeer peer(daemon.socket());
  wire::Hello hello = TestPeer::hello(wire::Role::Agent);
  hello.pid = 1;
  peer.send(hello);
  const auto refused = peer.expect<wire::Refused>();
  EXPECT_EQ(refused->code, wire::RefusedCode::NotAllowed);
  EXPECT_THAT(refused->text, HasSubstr("claims to have pid 1"));
  EXPECT_TRUE(peer.has_ended());
}

TEST_F(HostileTest, ProgramWithTheRightsOfSeveralUsersIsRefused) {
  Child borrows([&] {
    if (seteuid(kOtherUser) != 0) return 2;  // its real user id is still root
    TestPeer peer(daemon.socket());
    peer.send(TestPeer::hello(wire::Role::Agent));
    const auto refused = peer.expect<wire::Refused>();
    return refused && refused->text.find("several users") != std::string::npos ? 0 : 1;
  });
  EXPECT_EQ(borrows.wait(), 0);
}

TEST_F(HostileTest, TooLongAndTooManyNamePatternsAreRefused) {
  const TestPeer program = TestPeer::agent(daemon.socket(), "train-7");
  TestPeer command = TestPeer::tool(daemon.socket());
  const auto listed = [&](std::vector<std::string> names) {
    command.send(wire::List{{{}, std::move(names), {}}});
    const auto packet = command.receive();
    const auto* reply = packet ? std::get_if<wire::ListReply>(&packet->message) : nullptr;
    return reply == nullptr ? -1 : static_cast<int>(reply->processes.size());
  };
  EXPECT_EQ(listed({"train-*"}), 1);
  EXPECT_EQ(listed({"t*n-?"}), 1);
  EXPECT_EQ(listed({"*7", "no"}), 1);
  EXPECT_EQ(listed({"*"}), 1);
  EXPECT_EQ(listed({"train"}), 0);
  EXPECT_EQ(listed({"train-7?"}), 0);
  EXPECT_EQ(listed({std::string(257, '*')}), -1);
  EXPECT_EQ(listed(std::vector<std::string>(65, "x")), -1);
}

TEST_F(HostileTest, OutputThatExpandsBeyondTheLimitIsRefusedAndNoConnectionEnds) {
  TestPeer program = TestPeer::agent(daemon.socket(), "train");
  TestPeer command = TestPeer::tool(daemon.socket());
  std::string output = "/tmp/";
  while (output.size() < 4000) output += "{time}";
  command.send(trace_into(output));
  EXPECT_THAT(command.expect<wire::Refused>()->text, HasSubstr("too long"));
  EXPECT_THAT(command.names(), ElementsAre("train"));
}

TEST(UnreadSumTest, OneUserCannotUseTheWholeLimitAndRootIsNotLockedOut) {
  UnreadSum sum;
  constexpr size_t kMegabyte = 1 << 20;
  EXPECT_TRUE(sum.take(1, 16 * kMegabyte));
  EXPECT_FALSE(sum.take(1, 1));
  for (uint32_t uid = 2; uid <= 4; ++uid) EXPECT_TRUE(sum.take(uid, 16 * kMegabyte));
  EXPECT_FALSE(sum.take(5, 1));
  EXPECT_TRUE(sum.take(0, kMegabyte));
  sum.give(1, 16 * kMegabyte);
  EXPECT_TRUE(sum.take(5, kMegabyte));
}

TEST_F(HostileTest, NewerVersionIsRefusedWithTheReason) {
  TestPeer peer(daemon.socket());
  wire::Hello hello = TestPeer::hello(wire::Role::Tool);
  hello.version = hello.oldest_version = 99;
  peer.send(hello);
  const auto refused = peer.expect<wire::Refused>();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code, wire::RefusedCode::Version);
  EXPECT_EQ(refused->text, "the command has version 99 of Kymo's protocol, but kymod has version 3; update kymod");
}

TEST_F(HostileTest, OlderVersionIsRefusedAndLoggedInOneLine) {
  TestPeer peer(daemon.socket());
  wire::Hello hello = TestPeer::hello(wire::Role::Agent);
  hello.version = hello.oldest_version = 1;
  peer.send(hello);
  const auto refused = peer.expect<wire::Refused>();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code, wire::RefusedCode::Version);
  EXPECT_EQ(refused->text, "the program has version 1 of Kymo's protocol, but kymod has version 3; update the program");
  EXPECT_TRUE(peer.has_ended());
  EXPECT_THAT(daemon.log(), HasSubstr("was closed: " + refused->text + "\n"));
}

TEST_F(HostileTest, ARequestOfAnUnknownKindIsRefused) {
  TestPeer program = TestPeer::agent(daemon.socket(), "train");
  TestPeer command = TestPeer::tool(daemon.socket());
  wire::Trigger trigger = trace_into("/tmp/x.kymo");
  trigger.kind = static_cast<wire::RequestKind>(9);
  command.send(trigger);
  const auto refused = command.expect<wire::Refused>();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->text, "kymod does not know requests of kind 9; update kymod");
}

TEST_F(HostileTest, ProgramsCannotTriggerAndCommandsCannotAnswer) {
  TestPeer program = TestPeer::agent(daemon.socket(), "train");
  program.send(trace_into("/tmp/x.kymo"));
  EXPECT_EQ(program.expect<wire::Refused>()->code, wire::RefusedCode::NotAllowed);
  TestPeer command = TestPeer::tool(daemon.socket());
  command.send(wire::Done{{}, 1});
  EXPECT_EQ(command.expect<wire::Refused>()->code, wire::RefusedCode::NotAllowed);
}

TEST_F(HostileTest, FloodClosesTheConnectionOfItsSender) {
  TestPeer peer = TestPeer::tool(daemon.socket());
  const auto max = static_cast<int>(ConnectionLimits().messages_at_once) * 20;
  int sent = 0;
  while (sent < max && peer.send(wire::Refused{})) ++sent;
  EXPECT_LT(sent, max);
  EXPECT_TRUE(peer.has_ended());
  expect_served();
}

TEST_F(HostileTest, APeerThatNeverReadsIsDroppedAndOthersAreServed) {
  std::vector<TestPeer> programs;
  for (int i = 0; i < 100; ++i) programs.push_back(TestPeer::agent(daemon.socket(), std::string(500, 'x')));
  TestPeer peer = TestPeer::tool(daemon.socket());
  // Each list is about 60 KB, and the peer does not read them.
  for (int i = 0; i < 500 && peer.send(wire::List{}); ++i) {
  }
  EXPECT_TRUE(testing::wait_until([&] { return daemon.log().find("does not read") != std::string::npos; }))
      << daemon.log();
  expect_served();
}

TEST_F(HostileTest, PeerWithoutHelloIsDroppedAfterATimeout) {
  TestPeer silent(daemon.socket());
  EXPECT_TRUE(silent.has_ended());
  EXPECT_THAT(daemon.log(), HasSubstr("did not send Hello"));
}

TEST_F(HostileTest, UserCannotSeeTriggerOrCancelProgramsOfAnotherUser) {
  TestPeer program = TestPeer::agent(daemon.socket(), "train");
  TestPeer own = TestPeer::tool(daemon.socket());
  own.send(trace_into("/tmp/x.kymo"));
  const uint64_t trigger = own.expect<wire::TriggerReply>()->trigger_id;
  program.expect<wire::Start>();
  Child other(
      [&] {
        TestPeer command = TestPeer::tool(daemon.socket());
        EXPECT_THAT(command.names(), IsEmpty());
        command.send(trace_into("/tmp/x.kymo"));
        const auto reply = command.expect<wire::TriggerReply>();
        EXPECT_EQ(reply->trigger_id, 0u);
        EXPECT_THAT(reply->text, HasSubstr("no program of"));
        command.send(wire::CancelTrigger{trigger});
        EXPECT_THAT(command.expect<wire::TriggerReply>()->targets, IsEmpty());
        command.send(wire::CancelTrigger{0});
        EXPECT_THAT(command.expect<wire::TriggerReply>()->targets, IsEmpty());
        // It sees its own programs.
        const TestPeer mine = TestPeer::agent(daemon.socket(), "mine");
        EXPECT_THAT(command.names(), ElementsAre("mine"));
        return ::testing::Test::HasFailure() ? 1 : 0;
      },
      kOtherUser);
  EXPECT_EQ(other.wait(), 0);
  own.send(wire::History{});
  EXPECT_TRUE(own.expect<wire::HistoryReply>());
}

TEST_F(HostileTest, RootSeesAndTriggersProgramsOfAllUsers) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  Child other(
      [&] {
        TestPeer program = TestPeer::agent(daemon.socket(), "theirs");
        if (write(ready[1], "x", 1) != 1) return 2;
        return program.expect<wire::Start>() ? 0 : 1;
      },
      kOtherUser);
  ASSERT_TRUE(testing::is_readable(ready[0]));
  TestPeer command = TestPeer::tool(daemon.socket());
  ASSERT_THAT(command.names(), ElementsAre("theirs"));
  EXPECT_EQ(command.list()[0].uid, kOtherUser);
  command.send(trace_into("/tmp/x.kymo"));
  EXPECT_EQ(command.expect<wire::TriggerReply>()->targets.size(), 1u);
  EXPECT_EQ(other.wait(), 0);
  close(ready[0]);
  close(ready[1]);
}

TEST_F(HostileTest, DaemonOfOneUserRefusesOtherUsers) {
  TestFolder own;
  TestDaemon mine(own, [](DaemonOptions& options) { options.is_for_user = true; });
  chmod(mine.socket().c_str(), 0666);  // even if every user can reach the socket
  Child other(
      [&] {
        TestPeer peer(mine.socket());
        const auto refused = peer.expect<wire::Refused>();
        return refused && refused->code == wire::RefusedCode::NotAllowed ? 0 : 1;
      },
      kOtherUser);
  EXPECT_EQ(other.wait(), 0);
}

TEST(EndpointTest, UnsafeOrInvalidSocketPathIsRefused) {
  const TestFolder folder;
  const auto refusal = [](const std::string& socket) -> std::string {
    DaemonOptions options;
    options.socket = socket;
    try {
      serve(options);
    } catch (const Error& error) {
      return error.what();
    }
    return "it serves";
  };
  std::filesystem::create_directory(folder.file("open"));
  chmod(folder.file("open").c_str(), 0777);
  EXPECT_THAT(refusal(folder.file("open/k.sock")), HasSubstr("other users can write"));
  std::filesystem::create_directory_symlink("/tmp", folder.file("link"));
  EXPECT_THAT(refusal(folder.file("link/k.sock")), HasSubstr("a link"));
  EXPECT_THAT(refusal(folder.file("none/k.sock")), HasSubstr("No such file"));
  std::filesystem::create_directory(folder.file("file"));
  std::filesystem::create_directory(folder.file("file/k.sock"));
  EXPECT_THAT(refusal(folder.file("file/k.sock")), HasSubstr("not a socket"));
  EXPECT_THAT(refusal("/" + std::string(200, 'x')), HasSubstr("less than 108 characters"));
}

}  // namespace
}  // namespace kymo::daemon
