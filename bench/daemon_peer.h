// The command side of Kymo's protocol, as far as benchmarks need it.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "wire/message.h"

namespace bench {

[[noreturn]] inline void fail(const std::string& what) {
  std::fprintf(stderr, "bench_ondemand: %s\n", what.c_str());
  std::exit(1);
}

inline uint64_t realtime_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// Any error ends the benchmark.
class DaemonPeer {
 public:
  DaemonPeer(const std::string& socket, kymo::wire::Role role)
      : fd_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    socket.copy(address.sun_path, sizeof address.sun_path - 1);
    for (int i = 0; connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0; ++i) {
      if (i == 1000) fail("nobody listens at " + socket);
      usleep(10'000);
    }
    kymo::wire::Hello hello;
    hello.role = role;
    hello.pid = getpid();
    hello.name = "bench";
    send(hello);
    expect<kymo::wire::Welcome>();
  }
  ~DaemonPeer() { close(fd_); }
  DaemonPeer(const DaemonPeer&) = delete;
  DaemonPeer& operator=(const DaemonPeer&) = delete;

  void send(const kymo::wire::Message& message) {
    const auto packet = kymo::wire::message_packet(message);
    if (!packet || ::send(fd_, packet->data(), packet->size(), MSG_NOSIGNAL) < 0)
      fail("cannot send: " + packet.reason());
  }
  template <class M>
  M expect() {
    static std::vector<std::byte> buffer(kymo::wire::kLargestMessage);
    const ssize_t size = recv(fd_, buffer.data(), buffer.size(), 0);
    if (size > 0) {
      const auto packet = kymo::wire::read_message(kymo::base::Bytes(buffer).first(static_cast<size_t>(size)));
      if (std::holds_alternative<M>(packet.message)) return std::get<M>(packet.message);
    }
    fail("expected " + std::string(kymo::wire::name_of(M::kType)));
  }
  std::vector<kymo::wire::ProcessEntry> list() {
    send(kymo::wire::List{});
    std::vector<kymo::wire::ProcessEntry> all;
    for (bool more = true; more;) {
      const auto reply = expect<kymo::wire::ListReply>();
      all.insert(all.end(), reply.processes.begin(), reply.processes.end());
      more = reply.more;
    }
    return all;
  }

 private:
  int fd_;
};

}  // namespace bench
