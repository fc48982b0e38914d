// Kineto's IPC fabric: the datagrams between libkineto in a program and the daemon that triggers it.
//
// One message is one datagram: a header of 40 bytes (payload size, type of 32 characters), then the payload. A client
// asks `req` every few seconds and gets a config text, mostly an empty one; `ctxt` registers a process by hand. Which
// way a message goes is not in its bytes: the daemon reads with read_fabric_request, the client with
// read_fabric_reply. Everything read is checked against the datagram's own length, and nothing is believed that it
// claims; addresses are in fabric_address.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "wire/result.h"

namespace kymo::wire {

inline constexpr size_t kFabricHeaderBytes = 40;
inline constexpr size_t kFabricTypeBytes = 32;
// What a receiver needs room for. A datagram that is longer is refused, whoever sent it.
inline constexpr size_t kFabricLargestDatagram = 64 * 1024;
inline constexpr size_t kFabricLargestPayload = kFabricLargestDatagram - kFabricHeaderBytes;
// libkineto states itself and at most ten parents.
inline constexpr size_t kFabricMostPids = 64;

// What a client is ready for. Bits that are not known are kept.
inline constexpr uint32_t kFabricEvents = 1;
inline constexpr uint32_t kFabricActivities = 2;

// `ctxt`: this process uses that accelerator. Answered by a FabricRegistered.
struct FabricContext {
  int32_t gpu = 0;
  int32_t pid = 0;
  int64_t job = 0;
  bool operator==(const FabricContext&) const = default;
};

// `req`: is there something for this process? Answered by a FabricConfig.
struct FabricPoll {
  uint32_t ready_for = kFabricActivities;  // an activity profiler that is busy leaves its bit out
  int64_t job = 0;                         // 0: none
  std::vector<int32_t> pids;               // its own, then its parents'; 1 to kFabricMostPids of them
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

// A whole datagram. Refused: one that is cut off or too long, whose header tells another size, whose type is neither
// `ctxt` nor `req`, whose number of pids is not what follows, and pids that are none.
Result<FabricRequest> read_fabric_request(base::Bytes untrusted);
Result<FabricReply> read_fabric_reply(base::Bytes untrusted);

// The datagram. Refused is only what no receiver would take: too many pids or none, a text that is too long.
Result<std::vector<std::byte>> fabric_datagram(const FabricRequest& request);
Result<std::vector<std::byte>> fabric_datagram(const FabricReply& reply);

}  // namespace kymo::wire
