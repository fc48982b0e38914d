// Helpers for the daemon's tests: test_support.h.
#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

#include "daemon/test_support.h"
#include "wire/dyno/rpc.h"
#include "wire/fabric.h"

namespace kymo::daemon::testing {

bool wait_until(const std::function<bool()>& holds) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::milliseconds(kLimitMs);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > limit) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

bool is_readable(int fd, int limit_ms) {
  pollfd one{fd, POLLIN, 0};
  return poll(&one, 1, limit_ms) == 1;
}

TestFolder::TestFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "kymod.XXXXXX").string();
  path_ = mkdtemp(pattern.data());
  chmod(path_.c_str(), 0711);
}

TestFolder::~TestFolder() { std::filesystem::remove_all(path_); }

Child::Child(const std::function<int()>& work, uid_t user) : pid_(fork()) {
  if (pid_ != 0) return;
  int code = 99;
  if (user == 0 || (setgid(user) == 0 && setuid(user) == 0)) code = work();
  _exit(code);
}

Child::~Child() { kill_it(); }

void Child::signal(int number) const { kill(pid_, number); }

int Child::wait() {
  int status = 0;
  if (pid_ <= 0 || waitpid(std::exchange(pid_, -1), &status, 0) < 0) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void Child::kill_it() {
  if (pid_ <= 0) return;
  signal(SIGKILL);
  wait();
}

TestDaemon::TestDaemon(const TestFolder& folder, std::function<void(DaemonOptions&)> change)
    : log_(folder.file("log")) {
  options_.socket = folder.file("kymod.sock");
  if (change) change(options_);
  start();
}

void TestDaemon::start() {
  const auto before = log();
  process_.emplace([this] {
    const int file = open(log_.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    dup2(file, STDERR_FILENO);
    try {
      serve(options_);
    } catch (const std::exception& error) {
      dprintf(STDERR_FILENO, "failed: %s\n", error.what());
      return 1;
    }
    return 0;
  });
  EXPECT_TRUE(wait_until([&] {
    const std::string said = log().substr(before.size());
    return said.find(" at " + options_.socket) != said.npos || said.find("failed:") != said.npos;
  }));
  EXPECT_EQ(log().substr(before.size()).find("failed:"), std::string::npos) << log();
}

bool TestDaemon::is_alive() const { return waitpid(pid(), nullptr, WNOHANG) == 0; }

std::string TestDaemon::log() const {
  std::ifstream file(log_);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void TestDaemon::restart(int signal) {
  process_->signal(signal);
  process_->wait();
  start();
}

int TestDaemon::stop() {
  process_->signal(SIGTERM);
  return process_->wait();
}

TestPeer::TestPeer(const std::string& socket) : socket_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, socket.c_str(), sizeof address.sun_path - 1);
  if (connect(fd(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) socket_.reset();
}

wire::Hello TestPeer::hello(wire::Role role) {
  wire::Hello hello;
  hello.role = role;
  hello.pid = getpid();
  return hello;
}

TestPeer TestPeer::agent(const std::string& socket, const std::string& name, const std::string& job) {
  TestPeer peer(socket);
  wire::Hello said = hello(wire::Role::Agent);
  said.name = name;
  said.job = job;
  peer.send(said);
  EXPECT_TRUE(peer.expect<wire::Welcome>());
  return peer;
}

TestPeer TestPeer::tool(const std::string& socket) {
  TestPeer peer(socket);
  peer.send(hello(wire::Role::Tool));
  EXPECT_TRUE(peer.expect<wire::Welcome>());
  return peer;
}

bool TestPeer::send(const wire::Message& message, uint32_t serial) {
  const auto packet = wire::message_packet(message, serial);
  EXPECT_TRUE(packet) << packet.reason();
  return packet && send_bytes(*packet);
}

bool TestPeer::send_bytes(base::Bytes bytes) {
  return ::send(fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
}

std::optional<wire::Packet> TestPeer::receive() {
  std::vector<std::byte> buffer(wire::kLargestMessage);
  for (int tries = 0; tries < 2; ++tries) {  // a reset may be reported before the received data
    if (!is_readable(fd())) return std::nullopt;
    const ssize_t size = recv(fd(), buffer.data(), buffer.size(), 0);
    if (size == 0) return std::nullopt;
    if (size > 0) return wire::read_message(base::Bytes(buffer).first(static_cast<size_t>(size)));
  }
  return std::nullopt;
}

bool TestPeer::has_ended() {
  while (receive()) {
  }
  return is_readable(fd(), 0);
}

std::vector<wire::ProcessEntry> TestPeer::list() {
  send(wire::List{}, 7);
  std::vector<wire::ProcessEntry> all;
  while (const auto reply = expect<wire::ListReply>()) {
    all.insert(all.end(), reply->processes.begin(), reply->processes.end());
    if (!reply->more) break;
  }
  return all;
}

std::vector<std::string> TestPeer::names() {
  std::vector<std::string> names;
  for (const auto& entry : list()) names.push_back(entry.name);
  return names;
}

wire::Trigger trace_into(const std::string& output) {
  wire::Trigger trigger;
  trigger.options.duration_ns = 1'000'000'000;
  trigger.options.output = output;
  return trigger;
}

TestKineto::TestKineto(const std::string& folder, const std::string& daemon_folder)
    : folder_(folder),
      daemon_folder_(daemon_folder == "same" ? folder : daemon_folder),
      socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
  std::random_device device;
  std::array<uint8_t, 16> random{};
  for (uint8_t& byte : random) byte = static_cast<uint8_t>(device());
  const auto address = wire::fabric_address(wire::fabric_client_name(random), folder);
  EXPECT_EQ(bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address->address), address->length), 0);
}

void TestKineto::send(const wire::FabricRequest& request) {
  const auto datagram = wire::fabric_datagram(request);
  send_bytes(*datagram);
}

void TestKineto::send_bytes(base::Bytes bytes) {
  const auto address = wire::fabric_address(wire::kFabricDaemonName, daemon_folder_);
  EXPECT_GE(sendto(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL,
                   reinterpret_cast<const sockaddr*>(&address->address), address->length),
            0)
      << std::strerror(errno);
}

std::optional<std::string> TestKineto::poll(uint32_t ready_for, int64_t job) {
  send(wire::FabricPoll{ready_for, job, {getpid(), getppid()}});
  const auto reply = receive();
  if (!reply || !std::holds_alternative<wire::FabricConfig>(*reply)) return std::nullopt;
  return std::get<wire::FabricConfig>(*reply).text;
}

std::optional<wire::FabricReply> TestKineto::receive(int limit_ms) {
  if (!is_readable(socket_.get(), limit_ms)) return std::nullopt;
  std::vector<std::byte> buffer(wire::kFabricLargestDatagram);
  const ssize_t size = recv(socket_.get(), buffer.data(), buffer.size(), 0);
  if (size < 0) return std::nullopt;
  const auto reply = wire::read_fabric_reply(base::Bytes(buffer).first(static_cast<size_t>(size)));
  return reply ? std::optional(*reply) : std::nullopt;
}

base::FileDescriptor connect_to_port(int port) {
  base::FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0) << std::strerror(errno);
  return socket;
}

std::optional<std::string> call(int port, const std::string& json) {
  const base::FileDescriptor socket = connect_to_port(port);
  const auto frame = wire::rpc_frame(json);
  send(socket.get(), frame->data(), frame->size(), MSG_NOSIGNAL);
  std::vector<std::byte> received;
  while (is_readable(socket.get())) {
    std::byte part[4096];
    const ssize_t size = recv(socket.get(), part, sizeof part, 0);
    if (size <= 0) break;
    received.insert(received.end(), part, part + size);
  }
  const auto reply = wire::read_rpc_frame(received);
  if (!reply || !*reply) return std::nullopt;
  return std::string(**reply);
}

bool enter_own_network() {
  if (unshare(CLONE_NEWNET) != 0) return false;
  const base::FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM, 0));
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP;
  return ioctl(socket.get(), SIOCSIFFLAGS, &request) == 0;
}

}  // namespace kymo::daemon::testing
