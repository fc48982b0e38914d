// For tests of the peers' protocols: the test's own network, and dyno's side of the protocol, written from the bytes.
#pragma once

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

namespace kymo::e2e {

inline constexpr const char* kLoopback = "127.0.0.1";
inline constexpr const char* kFarAddress = "10.77.0.1";  // of this host, but not of its loopback
inline constexpr uint16_t kDynoPort = 1778;

// A descriptor that is closed at the end.
class Socket {
 public:
  Socket(int family, int type) : fd_(::socket(family, type | SOCK_CLOEXEC, 0)) {}
  ~Socket() { close(fd_); }
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

// Moves this process into its own network namespace, which has both addresses above. False: not permitted.
inline bool enter_own_network() {
  if (unshare(CLONE_NEWNET) != 0) return false;
  const Socket socket(AF_INET, SOCK_DGRAM);
  ifreq up{};
  std::strcpy(up.ifr_name, "lo");
  up.ifr_flags = IFF_UP;
  if (ioctl(socket.fd(), SIOCSIFFLAGS, &up) != 0) return false;
  ifreq second{};
  std::strcpy(second.ifr_name, "lo:1");
  auto& address = reinterpret_cast<sockaddr_in&>(second.ifr_addr);
  address.sin_family = AF_INET;
  inet_pton(AF_INET, kFarAddress, &address.sin_addr);
  return ioctl(socket.fd(), SIOCSIFADDR, &second) == 0;
}

inline std::optional<Socket> connected_to_dyno(const char* host = kLoopback) {
  Socket socket(AF_INET, SOCK_STREAM);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(kDynoPort);
  inet_pton(AF_INET, host, &address.sin_addr);
  if (connect(socket.fd(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return std::nullopt;
  return socket;
}

// The reply to a call; empty: the connection ended without one.
inline std::string dyno(const std::string& json, const char* host = kLoopback) {
  const auto socket = connected_to_dyno(host);
  if (!socket) return "no connection";
  const auto length = static_cast<int32_t>(json.size());
  send(socket->fd(), &length, sizeof length, MSG_NOSIGNAL);
  send(socket->fd(), json.data(), json.size(), MSG_NOSIGNAL);
  std::string reply;
  pollfd file{socket->fd(), POLLIN, 0};
  char part[4096];
  for (ssize_t size = 0; poll(&file, 1, 30'000) == 1 && (size = recv(socket->fd(), part, sizeof part, 0)) > 0;)
    reply.append(part, static_cast<size_t>(size));
  return reply.size() < sizeof length ? "" : reply.substr(sizeof length);
}

// `dyno gputrace`: sends these lines, each with its line end, to the processes with this pid (0: all) and job.
inline std::string gputrace(const std::vector<std::string>& lines, int64_t pid = 0, int64_t job = 0,
                            const std::string& more = "", const char* host = kLoopback) {
  std::string config;
  for (const std::string& line : lines) config += line + "\\n";
  return dyno("{\"fn\":\"setKinetOnDemandRequest\",\"config\":\"" + config + "\",\"job_id\":" + std::to_string(job) +
                  ",\"pids\":[" + std::to_string(pid) + "],\"process_limit\":3" + more + "}",
              host);
}

// Names in the abstract namespace with this prefix, each without its first NUL and with its last.
inline std::vector<std::string> abstract_names(const std::string& beginning) {
  std::ifstream table("/proc/net/unix");
  std::vector<std::string> names;
  for (std::string line; std::getline(table, line);) {
    const size_t at = line.find(" @" + beginning);
    if (at == line.npos) continue;
    std::string name = line.substr(at + 2);
    if (name.ends_with('@')) name.back() = '\0';
    names.push_back(name);
  }
  return names;
}

inline bool send_datagram(const Socket& from, const std::string& abstract_name, const std::string& bytes) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  abstract_name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + abstract_name.size());
  return sendto(from.fd(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                reinterpret_cast<sockaddr*>(&address), length) >= 0;
}

// A message of the fabric. Its header says that the payload has `length` bytes.
inline std::string fabric_message(const std::string& type, const std::string& payload, uint64_t length) {
  std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
  bytes += type + std::string(32 - type.size(), '\0');
  return bytes + payload;
}
inline std::string fabric_message(const std::string& type, const std::string& payload) {
  return fabric_message(type, payload, payload.size());
}

// A request for a config: `count` is the stated number of pids.
inline std::string fabric_question(int32_t count, const std::vector<int32_t>& pids) {
  const int32_t head[4] = {3, count, 0, 0};
  std::string payload(reinterpret_cast<const char*>(head), sizeof head);
  return payload.append(reinterpret_cast<const char*>(pids.data()), pids.size() * sizeof(int32_t));
}

}  // namespace kymo::e2e
