#include "daemon/proc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "daemon/call_server.h"
#include "daemon/test_support.h"

namespace kymo::daemon {
namespace {

using ::testing::HasSubstr;

TEST(ProcTest, ValueOfKymoDaemonSwitchesTheAgent) {
  EXPECT_EQ(agent_switch(std::nullopt), AgentSwitch::Off);
  EXPECT_EQ(agent_switch(""), AgentSwitch::Off);
  EXPECT_EQ(agent_switch("0"), AgentSwitch::Off);
  EXPECT_EQ(agent_switch("1"), AgentSwitch::On);
  EXPECT_EQ(agent_switch("/run/x.sock"), AgentSwitch::On);
  EXPECT_EQ(agent_switch("run/x.sock"), AgentSwitch::Invalid);
}

TEST(ProcTest, ReadsTheFactsOfAProcess) {
  const auto facts = read_process(getpid());
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->uid, geteuid());
  EXPECT_EQ(facts->inner_pid, getpid());
  EXPECT_EQ(facts->parents.empty() ? 1 : facts->parents[0], getppid());
  EXPECT_TRUE(is_alive(getpid(), facts->started));
  EXPECT_FALSE(is_alive(getpid(), facts->started + 1));
  EXPECT_LT(facts->started_at_ns, base::realtime_ns());
  EXPECT_THAT(facts->command_line, HasSubstr("test"));
  EXPECT_FALSE(read_process(0));
  EXPECT_FALSE(read_process(999'999'999));
}

TEST(ProcTest, NameWithBracketsAndSpacesIsRead) {
  char before[16] = {};
  prctl(PR_GET_NAME, before);
  prctl(PR_SET_NAME, "a) R 1 (b");
  const auto facts = read_process(getpid());
  prctl(PR_SET_NAME, before);
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->name, "a) R 1 (b");
  EXPECT_EQ(facts->parents.empty() ? 1 : facts->parents[0], getppid());
}

TEST(ProcTest, ZombieIsNotAlive) {
  const pid_t pid = fork();
  if (pid == 0) _exit(0);
  siginfo_t info{};
  waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT);
  const auto facts = read_process(pid);
  ASSERT_TRUE(facts);
  EXPECT_FALSE(is_alive(pid, facts->started));
  waitpid(pid, nullptr, 0);
}

TEST(CredentialsTest, ClaimedPidIsCheckedAgainstTheKernel) {
  const ucred own{getpid(), geteuid(), getegid()};
  EXPECT_TRUE(verified_process(own, getpid()));
  EXPECT_THAT(verified_process(own, 1).reason(), HasSubstr("claims to have pid 1"));
  EXPECT_THAT(verified_process({0, 0, 0}, 1).reason(), HasSubstr("not visible here"));
  EXPECT_THAT(verified_process({999'999'999, 0, 0}, 1).reason(), HasSubstr("has ended"));
}

TEST(TcpAddressTest, AddressesAreReadAndWritten) {
  const auto texts = [](std::string_view given) {
    std::vector<std::string> all;
    for (const auto& address : parse_tcp_addresses(given, 1778)) all.push_back(address.text());
    return all;
  };
  EXPECT_THAT(texts("127.0.0.1,::1"), ::testing::ElementsAre("127.0.0.1:1778", "[::1]:1778"));
  EXPECT_THAT(texts("0.0.0.0:9,[::]:10"), ::testing::ElementsAre("0.0.0.0:9", "[::]:10"));
  EXPECT_TRUE(parse_tcp_addresses("127.1.2.3", 1)[0].is_loopback);
  EXPECT_FALSE(parse_tcp_addresses("::", 1)[0].is_loopback);
  for (const char* bad : {"", "localhost", "1.2.3.4:", "1.2.3.4:70000", "[::1", "[::1]x", "1.2.3.4,"})
    EXPECT_THROW(parse_tcp_addresses(bad, 1), InvalidArgument) << bad;
}

TEST(TcpAddressTest, UserOfThePeerIsKnownUntilThePeerClosesItsSocket) {
  base::FileDescriptor listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto any = parse_tcp_addresses("127.0.0.1:0", 0)[0];
  ASSERT_EQ(bind(listener.get(), reinterpret_cast<const sockaddr*>(&any.address), any.length), 0);
  ASSERT_EQ(listen(listener.get(), 1), 0);
  const auto at = own_address(listener.get());
  base::FileDescriptor caller(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(connect(caller.get(), reinterpret_cast<const sockaddr*>(&at->address), at->length), 0);
  const base::FileDescriptor accepted(accept(listener.get(), nullptr, nullptr));
  EXPECT_EQ(owner_of_peer(accepted.get()), geteuid());
  caller.reset();
  EXPECT_EQ(owner_of_peer(accepted.get()), std::nullopt);  // the kernel would show root for it
}

}  // namespace
}  // namespace kymo::daemon
