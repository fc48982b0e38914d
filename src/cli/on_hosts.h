// Runs a command on many hosts at a time.
//
//   OnHosts run(options);
//   run.connect();                      // to all; those that do not answer have an error
//   run.each([&](HostRun& host) {…});   // on all that answered, at the same time
//
// Ctrl-C is passed on to the commands on the hosts; a second one too, which discards what they record.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "cli/hosts_options.h"
#include "hosts/connection.h"

namespace kymo::cli {

struct HostRun {
  std::string host;
  std::unique_ptr<hosts::Connection> connection;  // null: there is none, see `error`
  hosts::ClockOffset clock;
  hosts::Connection::Result result;
  std::string error;  // why there is no result
};

class OnHosts {
 public:
  explicit OnHosts(const HostsOptions& options);

  // Connects to all hosts, some at a time, and measures their clocks. Returns when each has answered or timed out.
  void connect();

  // Calls `work` for all hosts that answered, each on its own thread. What it throws is the error of the host.
  void each(const std::function<void(HostRun&)>& work);

  std::deque<HostRun>& hosts() { return hosts_; }
  // For output of `work`.
  std::mutex& printing() { return printing_; }
  // How often the user pressed Ctrl-C.
  int stops() const { return stops_.load(); }

 private:
  void run_all(const std::function<void(HostRun&)>& work, size_t at_a_time);

  const HostsOptions& options_;
  std::deque<HostRun> hosts_;
  std::mutex printing_;
  std::atomic<int> stops_{0};
};

// `kymo COMMAND ARGUMENTS…` on all hosts: prints what each of them prints, under its name, as it arrives. The exit code
// is 1 if a host could not be reached, else the largest one of the hosts.
int run_on_hosts(const std::string& command, const Arguments& arguments, const HostsOptions& options, bool json);

}  // namespace kymo::cli
