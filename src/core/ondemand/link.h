// The agent's connection to kymod: it is opened, kept, and opened again when the daemon comes back.
//
// While there is no connection, the folder of the socket is watched. So waiting costs nothing, and a daemon is found as
// soon as it listens. A daemon of another protocol version is left alone until its socket changes. Sends never wait:
// data that the daemon does not read is kept, up to a limit; then the connection ends. For one thread.
#pragma once

#include <poll.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "ondemand/own_file.h"
#include "wire/message.h"

namespace kymo::ondemand {

// The sockets to try, in this order, for a value of KYMO_DAEMON. A path means only that socket, "" and "0" mean none,
// any other value ("1") means this user's socket and then the host's. Empty if check_address() refuses it.
std::vector<std::string> daemon_sockets(const std::string& value);
base::Check check_address(const std::string& value);

// Waits until a file appears, without polling: the kernel sends a notification (inotify).
//
// It watches the folder of each path. If that folder does not exist, it watches the nearest existing folder above it.
class FolderWatch {
 public:
  // Watches from now on. False: the system has no more watches.
  bool begin(const std::vector<std::string>& paths);
  void end() noexcept;                      // closes it, unless the program has already: see own_file.h
  int file() const { return file_.get(); }  // readable when something has changed; -1: not watching

  // Reads the changes; true if one of the paths may have appeared. Then call begin() again: new folders may exist.
  bool read_changes();

 private:
  struct Watched {
    int number;
    std::string name;  // the name that must appear in it
  };
  bool is_mine() const;

  base::FileDescriptor file_;
  std::string kind_;  // of file_, as the kernel names it
  std::vector<Watched> watched_;
};

class Link {
 public:
  using Hello = std::function<wire::Hello()>;
  using Receive = std::function<void(const wire::Packet&)>;
  using OtherVersion = std::function<void(const std::string& why)>;

  // `hello` is called for each connection; `receive` gets every valid message; `other_version` is called
  // when a daemon was found that has another protocol version.
  Link(std::vector<std::string> sockets, Hello hello, Receive receive, OtherVersion other_version);

  // Looks for the daemon. Does nothing if there is a connection.
  void connect();
  bool welcome() const { return welcomed_; }  // the daemon has accepted it
  const wire::Welcome& daemon() const { return daemon_; }

  void send(const wire::Message& message, uint32_t serial = 0);
  // Waits until everything is sent or `milliseconds` have passed, then closes the connection. For the end of the
  // program.
  void close(int milliseconds);

  // The files to poll, and the handling of their events.
  void add_files(std::vector<pollfd>& files) const;
  void serve(const std::vector<pollfd>& files);
  uint64_t due_ns() const { return retry_ns_; }  // CLOCK_MONOTONIC: connect() again; ~0: not by time

  // The program has closed descriptors, maybe these: then connects again.
  void files_closed();

  // In a forked child: the connection belongs to the parent.
  void abandon() noexcept;

 private:
  void hang_up();
  void lost();
  void leave_other_version(const std::string& why);
  void wait_for_daemon();
  void receive_all();
  bool flush();

  std::vector<std::string> sockets_;
  Hello hello_;
  Receive receive_;
  OtherVersion other_version_;
  OwnFile socket_;
  FolderWatch watch_;
  std::deque<std::vector<std::byte>> unsent_;
  wire::Welcome daemon_;
  bool welcomed_ = false;
  uint64_t retry_ns_ = ~uint64_t{0};
  uint64_t connected_ns_ = 0;
  unsigned tries_ = 0;  // attempts on a socket that exists but accepts no connection, or closes it at once
};

}  // namespace kymo::ondemand
