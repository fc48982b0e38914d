// The agent's connection to kymod: found, held, and found again when the daemon comes back.
//
// While there is none the folder of the socket is watched, so that waiting costs nothing and a daemon is found in the
// moment it begins to listen. Sends never wait: what the daemon does not take is kept, up to a limit, and then the
// connection ends. One thread.
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

  // `hello` is asked for each time it connects; `receive` gets every good message but Ping.
  Link(std::vector<std::string> sockets, Hello hello, Receive receive);

  // Looks for the daemon. Does nothing where there is a connection.
  void connect();
  bool connected() const { return static_cast<bool>(socket_); }
  bool welcome() const { return welcomed_; }  // the daemon has said so
  const wire::Welcome& daemon() const { return daemon_; }

  void send(const wire::Message& message, uint32_t serial = 0);
  // Waits until all is sent or `milliseconds` have passed, and hangs up. For the end of the program.
  void close(int milliseconds);

  // What to wait for, and what came of it.
  void add_files(std::vector<pollfd>& files) const;
  void serve(const std::vector<pollfd>& files);
  uint64_t due_ns() const { return retry_ns_; }  // CLOCK_MONOTONIC: connect() again; ~0: not by time

  const std::string& problem() const { return problem_; }  // why a daemon that is there is not believed

  // The program has closed descriptors, maybe these: connects again then.
  void files_closed();

  // In a forked child: the parent's connection is the parent's.
  void abandon() noexcept;

 private:
  void hang_up();
  void lost();
  void wait_for_daemon();
  void receive_all();
  bool flush();

  std::vector<std::string> sockets_;
  Hello hello_;
  Receive receive_;
  OwnFile socket_;
  FolderWatch watch_;
  std::deque<std::vector<std::byte>> unsent_;
  wire::Welcome daemon_;
  bool welcomed_ = false;
  uint64_t retry_ns_ = ~uint64_t{0};
  uint64_t connected_ns_ = 0;
  unsigned tries_ = 0;  // of a socket that is there and takes nobody, or hangs up at once
  std::string problem_;
};

}  // namespace kymo::ondemand
