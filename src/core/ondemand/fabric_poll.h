// The protocol of libkineto: a program asks a dynolog daemon every few seconds whether there is a request.
//
// With KINETO_USE_DAEMON, `dyno` treats a program with Kymo like one with libkineto. Only answers from the daemon's own
// address and from this user or root are read; all other datagrams are dropped.
#pragma once

#include <poll.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ondemand/own_file.h"
#include "wire/fabric.h"

namespace kymo::ondemand {

class FabricPoller {
 public:
  // `config` is called with each text that contains a request.
  explicit FabricPoller(std::function<void(const std::string& text)> config) : config_(std::move(config)) {}
  ~FabricPoller() { close(); }

  // Asks every five seconds, or as base_config() says. Uses its own socket, in the abstract namespace or in the folder
  // of KINETO_IPC_SOCKET_DIR. False: it cannot be opened.
  bool open();
  void close();
  void abandon() noexcept { socket_.reset(); }  // in a forked child: the name belongs to the parent

  // The program has closed descriptors, maybe this one: then opens a new one.
  void files_closed();

  // Asks when it is time. `busy`: a trace is running, so it does not ask.
  void ask(bool busy);
  uint64_t due_ns() const { return due_ns_; }  // CLOCK_MONOTONIC; ~0: never
  void add_files(std::vector<pollfd>& files) const;
  void serve(const std::vector<pollfd>& files);

 private:
  void receive_all();

  std::function<void(const std::string&)> config_;
  OwnFile socket_;
  wire::FabricAddress daemon_;
  std::string own_path_;  // of a socket in a folder
  std::vector<int32_t> pids_;
  int64_t job_ = 0;
  uint64_t ask_every_ns_ = 0;
  uint64_t due_ns_ = ~uint64_t{0};
};

}  // namespace kymo::ondemand
