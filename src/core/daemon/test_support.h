// Helpers for the daemon's tests: a real daemon in its own process, and both kinds of peers that talk to it.
//
// Nothing here measures time. Waits have a limit that is reached only if something hangs.
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

inline constexpr int kLimitMs = 100'000;
inline constexpr uid_t kOtherUser = 65534;

bool wait_until(const std::function<bool()>& holds);  // false: it did not hold in time
bool is_readable(int fd, int limit_ms = kLimitMs);

// A folder that is removed afterwards. Other users may enter it.
class TestFolder {
 public:
  TestFolder();
  ~TestFolder();
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A child process that runs `work` and exits with its result. It is killed when this object goes out of scope.
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

// A daemon. Its output is in FOLDER/log.
class TestDaemon {
 public:
  explicit TestDaemon(const TestFolder& folder, std::function<void(DaemonOptions&)> change = {});
  const std::string& socket() const { return options_.socket; }
  pid_t pid() const { return process_->pid(); }
  bool is_alive() const;
  std::string log() const;
  void restart(int signal);  // ends it with this signal, and starts another
  int stop();                // with SIGTERM; returns its exit code

 private:
  void start();
  DaemonOptions options_;
  std::string log_;
  std::optional<Child> process_;
};

// One end of Kymo's protocol.
class TestPeer {
 public:
  explicit TestPeer(const std::string& socket);  // connects and sends nothing
  static TestPeer agent(const std::string& socket, const std::string& name, const std::string& job = "");
  static TestPeer tool(const std::string& socket);
  static wire::Hello hello(wire::Role role);

  int fd() const { return socket_.get(); }
  bool send(const wire::Message& message, uint32_t serial = 0);
  bool send_bytes(base::Bytes bytes);
  // The next message; nothing if the connection has ended or no message came.
  std::optional<wire::Packet> receive();
  template <class M>
  std::optional<M> expect() {
    const auto packet = receive();
    if (packet && std::holds_alternative<M>(packet->message)) return std::get<M>(packet->message);
    ADD_FAILURE() << "expected " << wire::name_of(M::kType) << ", got "
                  << (packet ? wire::name_of(static_cast<wire::MessageType>(packet->type)) : "nothing");
    return std::nullopt;
  }
  bool has_ended();  // whether the daemon closed it; first reads what the daemon sent before
  void close() { socket_.reset(); }

  std::vector<wire::ProcessEntry> list();
  // The names of the programs that the daemon lists for this peer.
  std::vector<std::string> names();

 private:
  base::FileDescriptor socket_;
};

// A trace of one second into `output`.
wire::Trigger trace_into(const std::string& output);

// A client of Kineto's fabric, like libkineto: a datagram socket with a name. `folder` empty: the abstract namespace.
class TestKineto {
 public:
  explicit TestKineto(const std::string& folder = "", const std::string& daemon_folder = "same");
  void send(const wire::FabricRequest& request);
  void send_bytes(base::Bytes bytes);
  // Sends a request for this process and returns the config; nothing if no answer came.
  std::optional<std::string> poll(uint32_t ready_for = wire::kFabricActivities, int64_t job = 0);
  std::optional<wire::FabricReply> receive(int limit_ms = kLimitMs);

 private:
  std::string folder_, daemon_folder_;
  base::FileDescriptor socket_;
};

// A call like that of dyno. Returns the reply, or nothing if the connection ended without one.
std::optional<std::string> call(int port, const std::string& json);
base::FileDescriptor connect_to_port(int port);

// Moves this process to its own network namespace and enables the loopback device there. False: not permitted.
bool enter_own_network();

}  // namespace kymo::daemon::testing
