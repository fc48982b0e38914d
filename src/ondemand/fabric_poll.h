// The peers' way: a program that asks a dynolog daemon every few seconds whether there is something to do.
//
// With KINETO_USE_DAEMON a program of Kymo's is to `dyno` what one with libkineto is. Only answers of the daemon's own
// address and of this user or root are read; any other datagram is dropped, whatever it says.
#pragma once

#include <poll.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ondemand/own_file.h"
#include "wire/fabric_address.h"

namespace kymo::ondemand {

class FabricPoller {
 public:
  // `config` gets each text that asks for something.
  explicit FabricPoller(std::function<void(const std::string& text)> config) : config_(std::move(config)) {}
  ~FabricPoller() { close(); }

  // Every five seconds, or as base_config() says. A socket of its own, in the abstract namespace or in the folder that
  // KINETO_IPC_SOCKET_DIR names. False: not to be had.
  bool open();
  void close();
  void abandon() noexcept { socket_.reset(); }  // in a forked child: the name is the parent's

  // The program has closed descriptors, maybe this one: opens another then.
  void files_closed();

  // Asks when it is time. `busy`: a trace is being made, so nothing is asked for.
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
