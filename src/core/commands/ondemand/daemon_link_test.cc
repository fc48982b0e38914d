#include "commands/ondemand/daemon_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "client/connect.h"
#include "commands/ondemand/test_daemon.h"

namespace kymo::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string link_failure(const std::string& socket) {
  try {
    connect_daemons(socket);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(DaemonSocketTest, GivenSocketIsTheOnlyOne) { EXPECT_THAT(daemon_sockets("/x/y"), ElementsAre("/x/y")); }

TEST(DaemonSocketTest, DaemonOfTheUserComesBeforeTheDaemonOfTheHost) {
  unsetenv("KYMO_DAEMON");
  setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
  EXPECT_THAT(daemon_sockets(""), ElementsAre("/run/user/7/kymo/kymod.sock", "/run/kymo/kymod.sock"));
  setenv("KYMO_DAEMON", "1", 1);
  EXPECT_THAT(daemon_sockets(""), ElementsAre("/run/user/7/kymo/kymod.sock", "/run/kymo/kymod.sock"));
  setenv("KYMO_DAEMON", "/other.sock", 1);
  EXPECT_THAT(daemon_sockets(""), ElementsAre("/other.sock"));
  unsetenv("KYMO_DAEMON");
  unsetenv("XDG_RUNTIME_DIR");
}

TEST(DaemonSocketTest, SaysWhyThereIsNoDaemon) {
  EXPECT_EQ(probe_daemon("/nowhere/kymod.sock").outcome, SocketProbe::Outcome::Absent);
  const SocketProbe no_socket = probe_daemon("/dev/null");
  EXPECT_EQ(no_socket.outcome, SocketProbe::Outcome::Unusable);
  EXPECT_THAT(no_socket.reason, HasSubstr("/dev/null is not a socket"));
  EXPECT_EQ(probe_daemon("").outcome, SocketProbe::Outcome::Unusable);
  EXPECT_EQ(probe_daemon("/" + std::string(200, 'x')).outcome, SocketProbe::Outcome::Unusable);
  EXPECT_THAT(link_failure("/nowhere/kymod.sock"), HasSubstr("/nowhere/kymod.sock does not exist; start the daemon"));
}

TEST(DaemonSocketTest, WaitsForADaemonWithTooManyWaitingClients) {
  char folder[] = "/tmp/kymo-cli-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/kymod.sock";
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  const base::FileDescriptor listener(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(listener.get(), 0), 0);
  std::vector<client::Connection> waiting;
  do waiting.push_back(client::connect_to_daemon(path));
  while (waiting.back().state == client::Connection::State::Connected);
  ASSERT_EQ(waiting.back().state, client::Connection::State::Full);
  std::thread accepts([&] {
    const base::FileDescriptor first(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const base::FileDescriptor second(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  });
  EXPECT_EQ(probe_daemon(path).outcome, SocketProbe::Outcome::Connected);
  accepts.join();
  std::filesystem::remove_all(folder);
}

TEST(DaemonSocketTest, SocketOfAnotherUserIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to be somebody else";
  // The kernel reports the user that called listen().
  char folder[] = "/tmp/kymo-cli-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  ASSERT_EQ(chmod(folder, 01777), 0);
  const std::string path = std::string(folder) + "/kymod.sock";
  std::array<int, 2> ready{};
  ASSERT_EQ(pipe(ready.data()), 0);
  const pid_t stranger = fork();
  if (stranger == 0) {
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    const int socket = ::socket(AF_UNIX, SOCK_SEQPACKET, 0);
    if (setuid(65534) != 0 || bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) _exit(1);
    if (listen(socket, 1) != 0 || write(ready[1], "x", 1) != 1) _exit(1);
    pause();
  }
  close(ready[1]);
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  const SocketProbe probe = probe_daemon(path);
  EXPECT_EQ(probe.outcome, SocketProbe::Outcome::OtherUser);
  EXPECT_FALSE(probe.socket);
  EXPECT_THAT(probe.reason, HasSubstr("not to you or root"));
  kill(stranger, SIGKILL);
  waitpid(stranger, nullptr, 0);
  close(ready[0]);
  std::filesystem::remove_all(folder);
}

TEST(DaemonLinkTest, SendsHelloAndReceivesWelcome) {
  TestDaemon daemon([](const auto&) { return TestDaemon::Replies{}; });
  const DaemonLink link(probe_daemon(daemon.path()));
  EXPECT_EQ(link.welcome().kymo_version, "9.9");
  ASSERT_EQ(daemon.received().size(), 1u);
  const auto& hello = std::get<wire::Hello>(daemon.received()[0]);
  EXPECT_EQ(hello.role, wire::Role::Tool);
  EXPECT_EQ(hello.pid, getpid());
}

TEST(DaemonLinkTest, AnswerInPartsIsCollected) {
  TestDaemon daemon([](const auto&) {
    return TestDaemon::Replies{wire::ListReply{{{.pid = 1}}, true}, wire::ListReply{{{.pid = 2}}, false}};
  });
  DaemonLink link(probe_daemon(daemon.path()));
  const auto parts = link.ask<wire::ListReply>(wire::List{});
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[1].processes[0].pid, 2);
}

TEST(DaemonLinkTest, RefusalIsAnErrorWithTheTextOfTheDaemon) {
  TestDaemon daemon([](const auto&) {
    return TestDaemon::Replies{wire::Refused{wire::RefusedCode::Limit, 32, "64 triggers are enough"}};
  });
  DaemonLink link(probe_daemon(daemon.path()));
  try {
    link.ask<wire::ListReply>(wire::List{});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "64 triggers are enough");
  }
  EXPECT_THROW(link.ask<wire::ListReply>(wire::List{}), ConnectionLost);
}

TEST(DaemonLinkTest, RefusedHelloIsAnError) {
  TestDaemon daemon([](const auto&) { return TestDaemon::Replies{}; },
                    wire::Refused{wire::RefusedCode::Version, 1, "it speaks version 1, and 2 is spoken here"});
  EXPECT_THAT(link_failure(daemon.path()), HasSubstr("2 is spoken here"));
}

TEST(DaemonLinkTest, DaemonOfAnotherVersionIsAnError) {
  TestDaemon daemon([](const auto&) { return TestDaemon::Replies{}; }, wire::Welcome{.version = 1});
  EXPECT_EQ(link_failure(daemon.path()),
            "kymod has version 1 of Kymo's protocol, but this command has version 3; update kymod");
}

TEST(DaemonLinkTest, AnswerOfAnotherTypeIsAnError) {
  TestDaemon daemon([](const auto&) { return TestDaemon::Replies{wire::HistoryReply{}}; });
  DaemonLink link(probe_daemon(daemon.path()));
  EXPECT_THROW(link.ask<wire::ListReply>(wire::List{}), Error);
}

TEST(DaemonLinkTest, AnswerWithoutEndIsAnError) {
  TestDaemon daemon([](const auto&) { return TestDaemon::Replies(5000, wire::ListReply{{}, true}); });
  DaemonLink link(probe_daemon(daemon.path()));
  EXPECT_THROW(link.ask<wire::ListReply>(wire::List{}), Error);
}

}  // namespace
}  // namespace kymo::cli
