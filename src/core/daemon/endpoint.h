// Where Kymo's programs and commands connect: a socket in a folder that only its owner can write.
//
// A lock file beside the socket prevents a second daemon while the first one lives. The holder of the lock may replace
// a leftover socket. The lock file also stores the last trigger number, so that numbers are unique across restarts.
#pragma once

#include <cstdint>
#include <string>

#include "base/file.h"

namespace kymo::daemon {

struct EndpointOptions {
  std::string path;           // of the socket
  bool is_for_all = false;    // every user may connect; else only this user and root
  bool makes_folder = false;  // if it is missing
};

class Endpoint {
 public:
  // Throws kymo::Error: a folder that other users can write to or that is a link, a second daemon, a path that exists
  // and is not a socket, a path that is too long.
  explicit Endpoint(EndpointOptions options);
  ~Endpoint();  // removes the socket
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  int socket() const { return socket_.get(); }
  const EndpointOptions& options() const { return options_; }
  uint64_t next_trigger_id();

 private:
  void make_folder() const;
  void check_folder() const;
  void check_path() const;
  void lock();
  void remember();
  void listen_there();

  EndpointOptions options_;
  base::FileDescriptor lock_, socket_;
  uint64_t last_trigger_ = 0;
};

}  // namespace kymo::daemon
