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

#include "ondemand/folder_watch.h"
#include "ondemand/own_file.h"
#include "wire/message.h"

namespace kymo::ondemand {

class Link {
 public:
  using Hello = std::function<wire::Hello()>;
  using Receive = std::function<void(const wire::Packet&)>;
  using OtherVersion = std::function<void(const std::string& why)>;

  // `hello` is called for each connection; `receive` gets every valid message except Ping; `other_version` is called
  // when a daemon was found that has another protocol version.
  Link(std::vector<std::string> sockets, Hello hello, Receive receive, OtherVersion other_version);

  // Looks for the daemon. Does nothing if there is a connection.
  void connect();
  bool connected() const { return static_cast<bool>(socket_); }
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
