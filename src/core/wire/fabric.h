// Kineto's IPC fabric: the datagrams between libkineto in a program and the daemon that triggers it.
//
// One message is one datagram: a header of 40 bytes (payload size, type of 32 characters), then the payload. A client
// sends `req` every few seconds and gets a config text, which is usually empty. `ctxt` registers a process by hand. The
// direction of a message is not in its bytes: the daemon reads with read_fabric_request, the client with
// read_fabric_reply. All data is untrusted and checked against the length of the datagram.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace kymo::wire {

// ---- The addresses: datagram sockets, found by name
//
// A name is in Linux's abstract namespace, with one NUL at its end that is part of the address. Without the NUL it is
// another address, and nobody answers. If both sides are given a folder, it is instead a file in that folder; this is
// how containers share a daemon.

inline constexpr std::string_view kFabricDaemonName = "dynolog";
inline constexpr std::string_view kFabricClientName = "dynoconfigclient";  // followed by a random UUID
inline constexpr size_t kFabricLongestName = sizeof(sockaddr_un::sun_path) - 2;
inline constexpr size_t kFabricLongestPath = sizeof(sockaddr_un::sun_path) - 1;

// For bind, sendto and so on.
struct FabricAddress {
  sockaddr_un address{};
  socklen_t length = 0;
};

// If `folder` is empty, the abstract namespace is used. Refuses an empty name, a name with a NUL, and a name that, with
// the folder, does not fit into an address. A name in a folder must not contain a slash.
base::Result<FabricAddress> fabric_address(std::string_view name, std::string_view folder = {});

// The sender of a datagram, as recvmsg gives it.
struct FabricPeer {
  std::string name;  // in a folder: the complete path
  bool is_abstract = true;
  bool ends_in_nul = true;  // the reply must use the same form: an abstract peer may have bound without the NUL
  bool operator==(const FabricPeer&) const = default;
};

// Refuses a sender without a name, which cannot be answered, and an address that is not a Unix socket.
base::Result<FabricPeer> read_fabric_peer(const sockaddr_un& untrusted, socklen_t length);

// A client's own name, from 16 random bytes.
std::string fabric_client_name(std::array<uint8_t, 16> random);

// ---- Datagrams

inline constexpr size_t kFabricHeaderBytes = 40;
inline constexpr size_t kFabricTypeBytes = 32;
// The buffer size of a receiver. A longer datagram is always refused.
inline constexpr size_t kFabricLargestDatagram = size_t{64} * 1024;
inline constexpr size_t kFabricLargestPayload = kFabricLargestDatagram - kFabricHeaderBytes;
// libkineto sends itself and at most ten parents.
inline constexpr size_t kFabricMaxPids = 64;

// What a client is ready for. Unknown bits are kept.
inline constexpr uint32_t kFabricEvents = 1;
inline constexpr uint32_t kFabricActivities = 2;

// `ctxt`: this process uses that accelerator. Answered by a FabricRegistered.
struct FabricContext {
  int32_t gpu = 0;
  int32_t pid = 0;
  int64_t job = 0;
  bool operator==(const FabricContext&) const = default;
};

// `req` asks for a config for this process. The answer is a FabricConfig.
struct FabricPoll {
  uint32_t ready_for = kFabricActivities;  // a busy activity profiler omits its bit
  int64_t job = 0;                         // 0: none
  std::vector<int32_t> pids;               // its own, then its parents'; 1 to kFabricMaxPids
  bool wants_activities() const { return (ready_for & kFabricActivities) != 0; }
  bool operator==(const FabricPoll&) const = default;
};

// The answer to `ctxt`: how many processes of that job and accelerator are registered.
struct FabricRegistered {
  int32_t count = 0;
  bool operator==(const FabricRegistered&) const = default;
};

// The answer to `req`: a config text (config.h), or an empty one when there is nothing to do.
struct FabricConfig {
  std::string text;
  bool operator==(const FabricConfig&) const = default;
};

using FabricRequest = std::variant<FabricContext, FabricPoll>;
using FabricReply = std::variant<FabricRegistered, FabricConfig>;

// Reads a complete datagram. Refuses one that is truncated or too long, whose header has another size, whose type is
// neither `ctxt` nor `req`, whose number of pids does not match, or whose pids are not valid.
base::Result<FabricRequest> read_fabric_request(base::Bytes untrusted);
base::Result<FabricReply> read_fabric_reply(base::Bytes untrusted);

// Makes the datagram. Refuses only what no receiver would accept: too many pids or none, a text that is too long.
base::Result<std::vector<std::byte>> fabric_datagram(const FabricRequest& request);
base::Result<std::vector<std::byte>> fabric_datagram(const FabricReply& reply);

}  // namespace kymo::wire
