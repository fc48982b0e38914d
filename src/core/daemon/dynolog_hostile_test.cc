// Datagrams and calls that crash dynolog, or make it stop answering. kymod replaces dynolog: it must survive all of
// them and continue to serve other peers.
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/test_tree.h"
#include "daemon/test_support.h"
#include "wire/dyno/rpc.h"
#include "wire/dyno/test_dyno.h"
#include "wire/fabric.h"
#include "wire/test_bytes.h"

namespace kymo::daemon {
namespace {

using testing::call;
using testing::connect_to_port;
using ::testing::HasSubstr;
using testing::kOtherUser;
using testing::TestDaemon;
using testing::TestFolder;
using testing::TestKineto;
using wire::testing::from_hex;
using wire::testing::with;

class DynologHostileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0 || !testing::enter_own_network()) GTEST_SKIP() << "needs root, for a network of its own";
    folder.emplace();
    daemon.emplace(*folder, [](DaemonOptions& options) { options.dynolog = true; });
  }
  void TearDown() override {
    if (!daemon) return;
    EXPECT_TRUE(daemon->is_alive());
    TestKineto honest;
    EXPECT_EQ(honest.poll(), "");
    EXPECT_EQ(call(wire::kRpcPort, R"({"fn":"getStatus"})"), R"({"status":1})");
  }
  static std::vector<std::byte> good() {
    return *wire::fabric_datagram(wire::FabricRequest(wire::FabricPoll{wire::kFabricActivities, 0, {getpid()}}));
  }

  std::optional<TestFolder> folder;
  std::optional<TestDaemon> daemon;
};

TEST_F(DynologHostileTest, ADatagramFromASocketWithAPathIsAnswered) {
  TestKineto program(folder->path(), "");
  EXPECT_EQ(program.poll(), "");
}

TEST_F(DynologHostileTest, ADatagramFromASocketWithoutANameIsIgnored) {
  const base::FileDescriptor socket(::socket(AF_UNIX, SOCK_DGRAM, 0));
  const auto address = wire::fabric_address(wire::kFabricDaemonName);
  const auto datagram = good();
  ASSERT_GE(sendto(socket.get(), datagram.data(), datagram.size(), 0,
                   reinterpret_cast<const sockaddr*>(&address->address), address->length),
            0);
  EXPECT_TRUE(testing::wait_until([&] { return daemon->log().find("no name") != std::string::npos; }));
}

TEST_F(DynologHostileTest, DatagramsWithWrongLengthsOrCountsAreIgnored) {
  TestKineto liar;
  liar.send_bytes(with(good(), 0, uint64_t{1} << 62));
  liar.send_bytes(with(good(), wire::kFabricHeaderBytes + 4, static_cast<uint32_t>(-5)));
  liar.send_bytes(with(good(), wire::kFabricHeaderBytes + 4, uint32_t{1000}));
  liar.send_bytes(with(good(), wire::kFabricHeaderBytes + 4, uint32_t{0}));
  liar.send_bytes(with(good(), wire::kFabricHeaderBytes + 16, static_cast<uint32_t>(-1)));
  liar.send_bytes(base::Bytes(good()).first(7));
  liar.send_bytes({});
  liar.send_bytes(std::vector<std::byte>(wire::kFabricLargestDatagram + 100));
  liar.send_bytes(with(good(), 8, uint32_t{0x41414141}));
  EXPECT_FALSE(liar.receive(200));
  EXPECT_EQ(liar.poll(), "");
}

TEST_F(DynologHostileTest, RealDatagramsWithThePidOfAnotherProcessAreIgnored) {
  std::ifstream file(kymo::base::in_tree("tests/data/kineto/ondemand-datagrams.txt"));
  TestKineto replay;
  int replayed = 0;
  for (std::string line; std::getline(file, line); ++replayed) {
    const auto bytes = from_hex(line.substr(line.rfind(' ')));
    replay.send_bytes(bytes);
    EXPECT_FALSE(replay.receive(20));  // those pids are not this process
    replay.send_bytes(with(bytes, wire::kFabricHeaderBytes + 16, static_cast<uint32_t>(getpid())));
    EXPECT_TRUE(replay.receive());
  }
  EXPECT_GT(replayed, 3);
}

TEST_F(DynologHostileTest, AFloodOfDatagramsDoesNotFillTheLog) {
  TestKineto flood;
  for (int i = 0; i < 3000; ++i) flood.send_bytes(with(good(), 0, uint64_t{1} << 62));
  flood.receive(100);
  EXPECT_LT(daemon->log().size(), 8192u);
  sleep(1);  // until the user's rate limit allows datagrams again
}

TEST_F(DynologHostileTest, NoReplyIsSentThroughALinkToTheSocketOfAnotherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to be two users";
  chmod(folder->path().c_str(), 0777);
  const std::string own = folder->file("own"), victims = folder->file("victim");
  const auto bound = [](const std::string& path) {
    base::FileDescriptor socket(::socket(AF_UNIX, SOCK_DGRAM, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return socket;
  };
  const base::FileDescriptor victim = bound(victims);
  chmod(victims.c_str(), 0777);
  testing::Child attacker(
      [&] {
        const base::FileDescriptor socket = bound(own);
        rename(own.c_str(), folder->file("moved").c_str());
        if (symlink(victims.c_str(), own.c_str()) != 0) return 2;
        const auto address = wire::fabric_address(wire::kFabricDaemonName);
        const auto datagram = good();
        sendto(socket.get(), datagram.data(), datagram.size(), 0, reinterpret_cast<const sockaddr*>(&address->address),
               address->length);
        unlink(own.c_str());
        link(victims.c_str(), own.c_str());  // the same with a hard link
        sendto(socket.get(), datagram.data(), datagram.size(), 0, reinterpret_cast<const sockaddr*>(&address->address),
               address->length);
        return 0;
      },
      kOtherUser);
  EXPECT_EQ(attacker.wait(), 0);
  EXPECT_FALSE(testing::is_readable(victim.get(), 200));
}

TEST_F(DynologHostileTest, IdleConnectionsAreClosedAndDoNotBlockOthers) {
  std::vector<base::FileDescriptor> idle;
  for (int i = 0; i < 100; ++i) idle.push_back(connect_to_port(wire::kRpcPort));
  EXPECT_EQ(call(wire::kRpcPort, R"({"fn":"getStatus"})"), R"({"status":1})");
  char byte = 0;
  ASSERT_TRUE(testing::is_readable(idle.back().get()));
  EXPECT_LE(recv(idle.back().get(), &byte, 1, 0), 0);
}

TEST_F(DynologHostileTest, ClientThatDisconnectsBeforeItsReplyDoesNotAffectOthers) {
  for (int i = 0; i < 20; ++i) {
    const auto socket = connect_to_port(wire::kRpcPort);
    const auto frame = wire::rpc_frame(R"({"fn":"getVersion"})");
    ASSERT_EQ(send(socket.get(), frame->data(), frame->size(), MSG_NOSIGNAL), static_cast<ssize_t>(frame->size()));
  }
  EXPECT_EQ(call(wire::kRpcPort, R"({"fn":"getStatus"})"), R"({"status":1})") << "who comes after them is served";
}

TEST_F(DynologHostileTest, FrameLengthOfTwoGigabytesClosesTheConnection) {
  for (const uint32_t length : {0x7fffffffu, 0xffffffffu}) {
    const auto socket = connect_to_port(wire::kRpcPort);
    send(socket.get(), &length, sizeof length, MSG_NOSIGNAL);
    char byte = 0;
    ASSERT_TRUE(testing::is_readable(socket.get()));
    EXPECT_LE(recv(socket.get(), &byte, 1, 0), 0);
  }
}

TEST_F(DynologHostileTest, InvalidJsonClosesTheConnection) {
  EXPECT_EQ(call(wire::kRpcPort, "{"), std::nullopt);
  EXPECT_EQ(call(wire::kRpcPort, std::string(100'000, '[')), std::nullopt);
}

TEST_F(DynologHostileTest, NetworkAddressNeedsAPrivateTokenFile) {
  const TestFolder other;
  const auto refusal = [&](const std::string& token_file) -> std::string {
    DaemonOptions options;
    options.socket = other.file("k.sock");
    options.dynolog = true;
    options.dynolog_addresses = "0.0.0.0:1780";
    options.token_file = token_file;
    try {
      serve(options);
    } catch (const Error& error) {
      return error.what();
    }
    return "it serves";
  };
  EXPECT_THAT(refusal(""), HasSubstr("give a token file"));
  std::ofstream(other.file("token")) << "0123456789abcdef\n";
  chmod(other.file("token").c_str(), 0644);
  EXPECT_THAT(refusal(other.file("token")), HasSubstr("other users can read the token"));
}

}  // namespace
}  // namespace kymo::daemon
