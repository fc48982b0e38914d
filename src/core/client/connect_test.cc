#include "client/connect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>

namespace kymo::client {
namespace {

using State = Connection::State;
using ::testing::HasSubstr;

class ConnectTest : public ::testing::Test {
 protected:
  ConnectTest() {
    char name[] = "/tmp/kymo-client-XXXXXX";
    folder = mkdtemp(name);
    path = folder + "/kymod.sock";
  }
  ~ConnectTest() override { std::filesystem::remove_all(folder); }

  // A socket at `path`, like that of a daemon.
  base::FileDescriptor bind_there(bool listens) const {
    base::FileDescriptor made(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, path.c_str());
    EXPECT_EQ(bind(made.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    if (listens) {
      EXPECT_EQ(listen(made.get(), 8), 0);
    }
    return made;
  }
  State state() const { return connect_to_daemon(path).state; }

  std::string folder, path;
};

TEST_F(ConnectTest, ADaemonOfThisUserIsTrusted) {
  const auto daemon = bind_there(true);
  const Connection connection = connect_to_daemon(path);
  EXPECT_EQ(connection.state, State::Connected) << connection.problem;
  EXPECT_EQ(connection.owner, geteuid());
  EXPECT_TRUE(connection.socket);
}

TEST_F(ConnectTest, DefaultSocketsAreDifferent) {
  const char* before = getenv("XDG_RUNTIME_DIR");
  const std::string kept = before != nullptr ? before : "";
  setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
  EXPECT_EQ(default_sockets().size(), 2u);
  setenv("XDG_RUNTIME_DIR", "/run", 1);
  EXPECT_EQ(default_sockets(), std::vector<std::string>{"/run/kymo/kymod.sock"});
  if (before != nullptr)
    setenv("XDG_RUNTIME_DIR", kept.c_str(), 1);
  else
    unsetenv("XDG_RUNTIME_DIR");
}

TEST_F(ConnectTest, EachFailureHasItsOwnState) {
  EXPECT_EQ(state(), State::NotThere);
  { const auto bound = bind_there(false); }
  EXPECT_EQ(state(), State::Refused);
  EXPECT_EQ(connect_to_daemon("/dev/null").state, State::NotASocket);
  EXPECT_EQ(connect_to_daemon(folder + "/none/kymod.sock").state, State::NotThere);
  EXPECT_EQ(connect_to_daemon("").state, State::Failed);
  EXPECT_EQ(connect_to_daemon("/" + std::string(200, 'x')).state, State::Failed);
}

TEST_F(ConnectTest, AFolderThatOthersCanWriteToIsNotTrusted) {
  const auto daemon = bind_there(true);
  ASSERT_EQ(chmod(folder.c_str(), 0777), 0);
  const Connection connection = connect_to_daemon(path);
  EXPECT_EQ(connection.state, State::Untrusted);
  EXPECT_THAT(connection.problem, HasSubstr("others can write to it"));
  EXPECT_FALSE(connection.socket);
  ASSERT_EQ(chmod(folder.c_str(), 01777), 0);  // as /tmp: nobody can replace the file of another user
  EXPECT_EQ(state(), State::Connected);
}

TEST_F(ConnectTest, ALinkIsNotFollowed) {
  const auto daemon = bind_there(true);
  const std::string link = folder + "/link.sock";
  ASSERT_EQ(symlink(path.c_str(), link.c_str()), 0);
  EXPECT_EQ(connect_to_daemon(link).state, State::NotASocket);
}

TEST_F(ConnectTest, ASocketOfAnotherUserIsNotTrusted) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  const auto daemon = bind_there(true);
  ASSERT_EQ(chown(path.c_str(), 65534, 65534), 0);
  const Connection connection = connect_to_daemon(path);
  EXPECT_EQ(connection.state, State::Untrusted);
  EXPECT_THAT(connection.problem, HasSubstr("user 65534"));
}

}  // namespace
}  // namespace kymo::client
