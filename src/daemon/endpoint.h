// Where Kymo's programs and commands connect: a socket in a folder that only its owner can write.
//
// A lock beside the socket keeps a second daemon away for as long as the first one lives, however it ends; whoever has
// it may replace a socket that was left behind. The lock's file also remembers the last number of a trigger, so that a
// number means one trigger even across restarts.
#pragma once

#include <cstdint>
#include <string>

#include "base/file.h"

namespace kymo::daemon {

struct EndpointOptions {
  std::string path;           // of the socket
  bool is_for_all = false;    // every user may connect; or this one and root alone
  bool makes_folder = false;  // where it is missing
};

class Endpoint {
 public:
  // Throws kymo::Error: a folder that others can write or that is a link, a second daemon, something else in place of
  // the socket, a path too long for one.
  explicit Endpoint(EndpointOptions options);
  ~Endpoint();  // takes the socket away
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  int socket() const { return socket_.get(); }
  const EndpointOptions& options() const { return options_; }
  uint64_t next_trigger_id();

 private:
  void make_folder() const;
  void check_folder() const;
  void lock();
  void remember();
  void listen_there();

  EndpointOptions options_;
  base::FileDescriptor lock_, socket_;
  uint64_t last_trigger_ = 0;
};

}  // namespace kymo::daemon
