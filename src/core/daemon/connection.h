// One connection of Kymo's protocol: whole messages in and out, within limits.
//
// Nothing here blocks. Messages that the peer does not read at once are kept up to a limit. A peer that does not read
// them is dropped, so that it does not affect others. A peer that sends too much or an invalid message is dropped too.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/file.h"
#include "daemon/loop.h"
#include "wire/message.h"

namespace kymo::daemon {

struct ConnectionLimits {
  size_t max_unread = 4 << 20;  // pending bytes for the peer
  std::chrono::milliseconds longest_unread{30'000};
  double messages_a_second = 200;  // on average
  double messages_at_once = 1000;
};

// The pending bytes of all connections together, so that many connections of one user cannot fill the memory.
class UnreadSum {
 public:
  // False: the limit would be exceeded.
  bool take(uint32_t uid, size_t bytes);
  void give(uint32_t uid, size_t bytes);

 private:
  size_t all_ = 0;
  std::map<uint32_t, size_t> of_user_;
};

class Connection {
 public:
  struct Handlers {
    // Called for every valid packet; malformed packets are answered before.
    std::function<void(const wire::Packet&)> message;
    // The last call; never made inside a call of this class. The owner then destroys the connection.
    std::function<void(const std::string& why)> closed;
  };
  // Loop and sum outlive it; `uid` is the peer's.
  Connection(Loop& loop, base::FileDescriptor socket, ConnectionLimits limits, UnreadSum& sum, uint32_t uid,
             Handlers handlers);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void send(const wire::Message& message, uint32_t serial = 0);
  // Pending messages are dropped.
  void close(const std::string& why);

  bool is_closed() const { return is_closed_; }
  size_t unread() const { return unread_; }
  int socket() const { return socket_.get(); }

 private:
  void handle(uint32_t events);
  void receive();
  void flush();

  Loop& loop_;
  base::FileDescriptor socket_;
  ConnectionLimits limits_;
  UnreadSum& sum_;
  uint32_t uid_;
  Handlers handlers_;
  std::deque<std::vector<std::byte>> waiting_;
  size_t unread_ = 0;
  Allowance allowance_;
  bool is_closed_ = false;
  Loop::Timer unread_deadline_, closing_;
  Loop::Watch watch_;  // destroyed first: no events while the rest is destroyed
};

}  // namespace kymo::daemon
