// The socket that dyno connects to: one request and one reply per connection, many connections at a time.
//
// Nothing blocks: a connection has a few seconds for its whole request, and uses memory only for what has arrived. If
// there are too many connections, the one that has been idle longest is closed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "daemon/log.h"
#include "daemon/loop.h"
#include "daemon/tcp_address.h"

namespace kymo::daemon {

class RpcServer {
 public:
  // The reply to a request; empty: no reply, the connection is closed. The user is known only for a local connection.
  using Answer = std::function<std::string(std::string_view request, std::optional<uint32_t> uid)>;
  // Listens at every address that this host has. Throws Taken if one of them is in use, and kymo::Error if the host has
  // none of them.
  RpcServer(Loop& loop, Log& log, const std::vector<TcpAddress>& addresses, Answer answer);

 private:
  struct Listener {
    base::FileDescriptor socket;
    Loop::Watch watch;
  };
  struct Caller {
    base::FileDescriptor socket;
    std::optional<uint32_t> uid;
    std::vector<std::byte> request;
    std::vector<std::byte> reply;
    size_t sent = 0;
    Loop::Timer deadline;
    Loop::Watch watch;
  };
  void listen_at(const TcpAddress& address);
  void accept_some(int listener);
  void add(base::FileDescriptor socket, std::optional<uint32_t> uid);
  void drop_one();
  void handle(uint64_t id, uint32_t events);
  bool receive(Caller& caller);  // false: the connection has ended
  bool send_reply(Caller& caller);

  Loop& loop_;
  Log& log_;
  Answer answer_;
  std::vector<Listener> listeners_;
  std::map<uint64_t, Caller> callers_;  // oldest first
  uint64_t last_caller_ = 0;
};

}  // namespace kymo::daemon
