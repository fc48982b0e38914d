// A socket with one request and one reply per connection, many connections at a time: for dyno and for Prometheus.
//
// Nothing blocks: a connection has a few seconds for its whole request, and uses memory only for what has arrived. If
// there are too many connections, the oldest one of the user with the most connections is closed.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "daemon/loop.h"

namespace kymo::daemon {

// A numeric address where a server listens.
struct TcpAddress {
  sockaddr_storage address{};
  socklen_t length = 0;
  bool is_loopback = false;  // can be reached only from this host
  std::string text() const;  // "127.0.0.1:1778", "[::1]:1778"
};

// "127.0.0.1", "0.0.0.0:1779", "::1", "[::]:1778", separated by commas. Throws kymo::InvalidArgument.
std::vector<TcpAddress> parse_tcp_addresses(std::string_view text, uint16_t default_port);

// The address of either end of a connection, or of a socket that listens.
std::optional<TcpAddress> own_address(int socket);
std::optional<TcpAddress> peer_address(int socket);

// The user of the other end of a local connection, according to the kernel. Nothing if that end is already closed: then
// its user is not known.
std::optional<uint32_t> owner_of_peer(int connection);

class CallServer {
 public:
  // The reply to what has arrived; empty: it is not complete yet; nothing: the connection is closed. The user is known
  // only for a local connection, if the server identifies users.
  using Answer = std::function<std::optional<std::string>(std::string_view untrusted, std::optional<uint32_t> uid)>;
  CallServer(Loop& loop, bool identifies_users, Answer answer)
      : loop_(loop), identifies_users_(identifies_users), answer_(std::move(answer)) {}

  // Accepts connections at this socket, which listens.
  void serve(base::FileDescriptor listening);

 private:
  struct Listener {
    base::FileDescriptor socket;
    Loop::Watch watch;
  };
  struct Caller {
    base::FileDescriptor socket;
    std::optional<uint32_t> uid;
    std::string request, reply;
    size_t sent = 0;
    Loop::Timer deadline;
    Loop::Watch watch;
  };
  void accept_some(int listener);
  void add(base::FileDescriptor socket, std::optional<uint32_t> uid);
  void drop_one();
  void handle(uint64_t id, uint32_t events);
  bool receive(Caller& caller);  // false: the connection has ended
  static bool send_reply(Caller& caller);

  Loop& loop_;
  const bool identifies_users_;
  Answer answer_;
  std::vector<Listener> listeners_;
  std::map<uint64_t, Caller> callers_;  // oldest first
  uint64_t last_caller_ = 0;
};

}  // namespace kymo::daemon
