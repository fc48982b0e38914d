// One host, through ssh: Kymo's command there, its clock, and its files. ssh authenticates both sides.
//
// A Connection belongs to one thread. Its functions throw kymo::Error with the reason: the host does not answer in
// time, refuses, has no kymo or another one, or the connection ended.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hosts/frame.h"
#include "hosts/process.h"

namespace kymo::hosts {

struct SshOptions {
  std::vector<std::string> command = {"ssh"};  // with options, such as {"ssh", "-F", "config"}
  std::string remote_kymo = "kymo";            // on the hosts
  std::chrono::milliseconds timeout{5000};     // to connect, and for each answer
};

// The folder for the sockets of ssh's ControlMaster, which only this user can read; empty: there is none.
std::string control_folder();

// The clock of the host minus the clock here, at the middle of the measurement.
struct ClockOffset {
  int64_t offset_ns = 0;
  uint64_t error_ns = 0;
};

class Connection {
 public:
  using Clock = std::chrono::steady_clock;

  // `stop` becomes true when the user presses Ctrl-C: the command that runs on the host is stopped then.
  Connection(const SshOptions& options, const std::string& host, const std::atomic<int>& stop);

  const std::string& version() const { return version_; }
  const std::string& boot_id() const { return boot_id_; }

  // The shortest of some exchanges; half of its round trip is the error.
  ClockOffset measure_clock();

  struct Result {
    int exit_code = 0;
    std::string output, errors;
  };
  // Runs `kymo WORDS…` on the host, for at most `limit`.
  Result run(const std::vector<std::string>& words, std::chrono::milliseconds limit);

  // Copies a file to `to`, by `to`.part. The bytes are verified by their hash. Returns the size.
  uint64_t fetch(const std::string& path, const std::string& to);

 private:
  template <class Body>
  void send(FrameType type, const Body& body);
  Frame receive(Clock::time_point until);
  [[noreturn]] void fail(std::string_view why);
  void read_streams(Clock::time_point until);

  const std::atomic<int>& stop_;
  int stops_sent_ = 0;
  std::chrono::milliseconds timeout_;
  std::unique_ptr<Process> ssh_;
  FrameReader frames_{FrameReader::Expect::Greeting};
  std::string errors_;
  std::string version_, boot_id_;
};

// The other end of a Connection: `kymo remote`, which ssh starts on a host.
//
// It tells the time, runs commands of Kymo and sends files, with the permissions of the user who logged in. It ends
// when its input ends; a command that still runs then gets SIGINT, as by Ctrl-C. `kymo` is the path of the command.
// Returns its exit code.
int serve_far_end(int input, int output, const std::string& kymo);

}  // namespace kymo::hosts
