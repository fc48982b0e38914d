// Metrics of a running program for Prometheus: their text, and a server for it on the loopback interface or on a unix
// socket. docs/fleet-database.md.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include "base/file.h"

namespace kymo::metrics {

// Numbers in the text format of Prometheus.
class Text {
 public:
  // `name` and `help` are constants of the program. A counter only grows; a gauge may do anything.
  void counter(std::string_view name, std::string_view help, uint64_t value) { add(name, help, "counter", value); }
  void gauge(std::string_view name, std::string_view help, uint64_t value) { add(name, help, "gauge", value); }

  // One of several gauges with this name; `labels` are `gpu="0",name="NVIDIA H200"`. Those of a name come together.
  void gauge(std::string_view name, std::string_view help, std::string_view labels, double value);

  const std::string& text() const { return text_; }

 private:
  void add(std::string_view name, std::string_view help, std::string_view type, uint64_t value);
  std::string text_, last_;  // last_: the name of the last gauge with labels
};

// The answer to an HTTP request, or an empty text if the request is not complete yet. The request is untrusted; what is
// longer than kLongestRequest is refused. Only GET /metrics has a body.
inline constexpr size_t kLongestRequest = 8 << 10;
std::string answer(std::string_view request, const std::string& body);

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

// Serves metrics from a thread of its own.
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
