// Kineto's IPC fabric: the datagrams between libkineto in a program and the daemon that triggers it.
//
// One message is one datagram: a header of 40 bytes (payload size, type of 32 characters), then the payload. A client
// sends `req` every few seconds and gets a config text, which is usually empty. `ctxt` registers a process by hand. The
// direction of a message is not in its bytes: the daemon reads with read_fabric_request, the client with
// read_fabric_reply. All data is untrusted and checked against the length of the datagram. Addresses are in
// fabric_address.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace kymo::wire {

inline constexpr size_t kFabricHeaderBytes = 40;
inline constexpr size_t kFabricTypeBytes = 32;
// The buffer size of a receiver. A longer datagram is always refused.
inline constexpr size_t kFabricLargestDatagram = 64 * 1024;
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
