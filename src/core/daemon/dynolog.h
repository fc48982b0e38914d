// The daemon as a replacement for dynolog, for programs with libkineto and the dyno command.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/call_server.h"
#include "daemon/daemon.h"
#include "daemon/kineto_programs.h"
#include "wire/dyno/rpc.h"

namespace kymo::daemon {

struct DynologOptions {
  bool is_on = false;
  std::string folder;  // of the fabric's sockets; empty: the abstract namespace
  std::vector<TcpAddress> addresses;
  std::string token;  // empty: requests from the network are refused
};

// Throws kymo::InvalidArgument: an address that others can reach without a token, a token that others can read.
DynologOptions read_dynolog_options(const DaemonOptions& options);

// The address for programs: "@dynolog"; empty if it is off.
std::string describe(const DynologOptions& options);

class Dynolog {
 public:
  // All arguments outlive it. Listens at every address that this host has. Throws Taken if another process uses one of
  // them, and kymo::Error if the host has none of them.
  Dynolog(Loop& loop, Log& log, Programs& programs, Triggers& triggers, const DynologOptions& options);

 private:
  void listen(const std::vector<TcpAddress>& addresses);
  // The reply to a call, of which `untrusted` has arrived: see CallServer.
  std::optional<std::string> reply(std::string_view untrusted, std::optional<uint32_t> uid);
  std::string answer(std::string_view untrusted, std::optional<uint32_t> uid);
  // The user who sends the request; nothing if it is not allowed.
  std::optional<Asker> asker_of(std::string_view untrusted, std::optional<uint32_t> uid) const;
  std::string trigger(const wire::RpcTrigger& asked, const Asker& asker);

  Log& log_;
  Programs& programs_;
  Triggers& triggers_;
  std::string token_;
  KinetoPrograms kineto_;
  CallServer calls_;
};

}  // namespace kymo::daemon
