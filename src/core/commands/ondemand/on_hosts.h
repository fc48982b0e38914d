// Commands that also run on other hosts: their options (--hosts, --hosts-from, --slurm), and the run on all of them.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cli/command.h"
#include "hosts/connection.h"
#include "options/command_line.h"

namespace kymo::cli {

struct HostsOptions {
  std::vector<std::string> hosts;  // in the order given, each once
  hosts::SshOptions ssh;
  bool is_given = false;
  std::string needs_hosts;  // the last option that was given which says how to reach them
};

// The targets must live until line.read() has returned.
void add_hosts(options::CommandLine& line, HostsOptions& options);

// True if the command runs on other hosts. Throws options::UsageError if an option says how to reach hosts, and there
// are none.
bool is_for_hosts(const char* command, const HostsOptions& options);

// The arguments that the command on each host gets: all but those of add_hosts, and but `--fetch`.
Arguments without_hosts(const Arguments& arguments);

// Runs a command on many hosts at a time.
//
//   OnHosts run(options);
//   run.connect();                      // to all; those that do not answer have an error
//   run.each([&](HostRun& host) {…});   // on all that answered, at the same time
//
// Ctrl-C is passed on to the commands on the hosts; a second one too, which discards what they record.

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

// Throws kymo::Error if a file that was fetched is not what this trigger recorded on the host with this boot id. Hosts
// may share folders, and a trace with the clock of another host would be moved to a wrong time.
void check_fetched(const std::string& file, const std::string& boot_id, uint64_t trigger);

}  // namespace kymo::cli
