// Serves metrics on the loopback interface or on a unix socket, from a thread of its own. docs/fleet-database.md.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include "base/file.h"

namespace kymo::metrics {

// "127.0.0.1:9464", "[::1]:9464", "localhost:9464" or "unix:/run/kymo/metrics".
struct Place {
  std::string host;   // empty: a unix socket
  uint16_t port = 0;  // 0: any free one
  std::string path;
};
// Throws kymo::InvalidArgument: also for addresses that other machines can reach, because nobody is authenticated.
Place parse_place(const std::string& text);

// A socket that listens there. Throws kymo::Error if it cannot. Only the user and the group of the process may use a
// unix socket; one that nobody listens on is replaced.
struct Listening {
  base::FileDescriptor socket;
  uint16_t port = 0;  // 0: a unix socket
  std::string path;   // of the unix socket: whoever owns it removes it
};
Listening listen_at(const Place& place);

class Endpoint {
 public:
  // `text` makes the metrics, on the thread of the endpoint. Listens when it returns. Throws as listen_at().
  Endpoint(const Place& place, std::function<std::string()> text);
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  uint16_t port() const { return listening_.port; }  // 0: a unix socket

 private:
  void serve();
  void serve_one(int connection) const;

  std::function<std::string()> text_;
  Listening listening_;
  base::FileDescriptor stop_;
  std::thread thread_;
};

}  // namespace kymo::metrics
