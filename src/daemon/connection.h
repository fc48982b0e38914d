// One connection of Kymo's protocol: whole messages in and out, within limits.
//
// Nothing here waits. What the peer does not take at once is kept for it up to a limit, and a peer that leaves it lying
// is dropped, so that one that never reads costs nobody else anything. So is one that sends more than it may, and one
// that sends something that is no message.
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
  size_t most_unread = 4 << 20;  // bytes that wait for the peer
  std::chrono::milliseconds longest_unread{30'000};
  double messages_a_second = 200;  // on average
  double messages_at_once = 1000;
};

// What waits for peers to be read, together: many connections of one user are no way to fill the memory.
class UnreadSum {
 public:
  // False: it would be too much.
  bool take(uint32_t uid, size_t bytes);
  void give(uint32_t uid, size_t bytes);

 private:
  size_t all_ = 0;
  std::map<uint32_t, size_t> of_user_;
};

class Connection {
 public:
  struct Handlers {
    // Every packet that is a message of some kind; malformed ones are told apart and answered before.
    std::function<void(const wire::Packet&)> message;
    // The last thing that is heard; never from within a call of this class. The owner destroys the connection then.
    std::function<void(const std::string& why)> closed;
  };
  // Loop and sum outlive it; `uid` is the peer's.
  Connection(Loop& loop, base::FileDescriptor socket, ConnectionLimits limits, UnreadSum& sum, uint32_t uid,
             Handlers handlers);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void send(const wire::Message& message, uint32_t serial = 0);
  // What the peer has not taken yet is dropped.
  void close(const std::string& why);

  bool is_closed() const { return is_closed_; }
  size_t unread() const { return unread_; }
  int socket() const { return socket_.get(); }

 private:
  void handle(uint32_t events);
  void receive();
  void flush();
  bool may_send_another();

  Loop& loop_;
  base::FileDescriptor socket_;
  ConnectionLimits limits_;
  UnreadSum& sum_;
  uint32_t uid_;
  Handlers handlers_;
  std::deque<std::vector<std::byte>> waiting_;
  size_t unread_ = 0;
  double allowance_;
  Loop::Clock::time_point allowance_at_;
  bool is_closed_ = false;
  Loop::Timer unread_deadline_, closing_;
  Loop::Watch watch_;  // goes first: nothing is heard while the rest ends
};

}  // namespace kymo::daemon
