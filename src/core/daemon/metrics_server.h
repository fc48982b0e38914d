// Metrics of the daemon for Prometheus, on loopback or a unix socket. docs/fleet-database.md.
//
// Nothing blocks: a connection has a few seconds, and there are few at a time. They contain only counts: any user of
// this host may read those on loopback.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "daemon/loop.h"
#include "metrics/endpoint.h"

namespace kymo::daemon {

class MetricsServer {
 public:
  // Throws kymo::Error if it cannot listen.
  MetricsServer(Loop& loop, const metrics::Place& place, std::function<std::string()> text);
  ~MetricsServer();
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

  uint16_t port() const { return listening_.port; }  // 0: a unix socket

 private:
  struct Caller {
    base::FileDescriptor socket;
    std::string request, reply;
    size_t sent = 0;
    Loop::Timer deadline;
    Loop::Watch watch;
  };
  void accept_one();
  bool receive(Caller& caller);  // false: the connection has ended
  static bool send_reply(Caller& caller);

  Loop& loop_;
  std::function<std::string()> text_;
  metrics::Listening listening_;
  std::map<uint64_t, Caller> callers_;  // oldest first
  uint64_t last_caller_ = 0;
  Loop::Watch watch_;
};

}  // namespace kymo::daemon
