// What the daemon's tests share: a real daemon in a process of its own, and both kinds of peers that talk to it.
//
// Nothing here measures time; waits are bounded by a limit that only a hang reaches.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "daemon/daemon.h"
#include "wire/fabric.h"
#include "wire/message.h"

namespace kymo::daemon::testing {

inline constexpr int kPatienceMs = 30'000;
inline constexpr uid_t kOtherUser = 65534;

bool wait_until(const std::function<bool()>& holds);  // false: it never did
bool is_readable(int fd, int limit_ms = kPatienceMs);

// A folder that is gone afterwards; others may enter it.
class TestFolder {
 public:
  TestFolder();
  ~TestFolder();
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A process of the test's own that runs `work` and ends with what that returns; killed when this goes out of scope.
class Child {
 public:
  explicit Child(const std::function<int()>& work, uid_t user = 0);
  ~Child();
  Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  pid_t pid() const { return pid_; }
  void signal(int number) const;
  int wait();  // its exit code; -1: a signal ended it
  void kill_it();

 private:
  pid_t pid_;
};

// A daemon. What it says is in FOLDER/log.
class TestDaemon {
 public:
  explicit TestDaemon(const TestFolder& folder, std::function<void(DaemonOptions&)> change = {});
  const std::string& socket() const { return options_.socket; }
  pid_t pid() const { return process_->pid(); }
  bool is_alive() const;
  std::string log() const;
  void restart(int signal);  // ends it so, and starts another
  int stop();                // by SIGTERM: its exit code

 private:
  void start();
  DaemonOptions options_;
  std::string log_;
  std::optional<Child> process_;
};

// One end of Kymo's protocol.
class TestPeer {
 public:
  explicit TestPeer(const std::string& socket);  // connects and says nothing
  static TestPeer agent(const std::string& socket, const std::string& name, const std::string& job = "");
  static TestPeer tool(const std::string& socket);
  static wire::Hello hello(wire::Role role);

  int fd() const { return socket_.get(); }
  bool send(const wire::Message& message, uint32_t serial = 0);
  bool send_bytes(base::Bytes bytes);
  // The next message; nothing: the connection has ended, or none came.
  std::optional<wire::Packet> receive();
  template <class M>
  std::optional<M> expect() {
    const auto packet = receive();
    if (packet && std::holds_alternative<M>(packet->message)) return std::get<M>(packet->message);
    ADD_FAILURE() << "expected " << wire::name_of(M::kType) << ", got "
                  << (packet ? wire::name_of(static_cast<wire::MessageType>(packet->type)) : "nothing");
    return std::nullopt;
  }
  bool has_ended();  // the daemon closed it, as soon as what it sent before is read
  void close() { socket_.reset(); }

  std::vector<wire::ProcessEntry> list();
  // Programs that the daemon shows to this one, by name.
  std::vector<std::string> names();

 private:
  base::FileDescriptor socket_;
};

// A trace of a second into `output`.
wire::Trigger trace_into(const std::string& output);

// One end of Kineto's fabric, as libkineto is: a datagram socket with a name. `folder` empty: the abstract namespace.
class TestKineto {
 public:
  explicit TestKineto(const std::string& folder = "", const std::string& daemon_folder = "same");
  void send(const wire::FabricRequest& request);
  void send_bytes(base::Bytes bytes);
  // A request of this process, and the config it gets; nothing: no answer came.
  std::optional<std::string> poll(uint32_t ready_for = wire::kFabricActivities, int64_t job = 0);
  std::optional<wire::FabricReply> receive(int limit_ms = kPatienceMs);

 private:
  std::string folder_, daemon_folder_;
  base::FileDescriptor socket_;
};

// A call of dyno: what it gets back, or nothing where the connection ended without.
std::optional<std::string> call(int port, const std::string& json);
base::FileDescriptor connect_to_port(int port);

// This process leaves for a network namespace of its own, with a loopback device that is up. False: it may not.
bool enter_own_network();

}  // namespace kymo::daemon::testing
