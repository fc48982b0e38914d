// Kymo's own messages, the first third: how two ends of a connection get to know each other.
//
// Whoever connects says Hello, the daemon says Welcome or Refused. docs/wire.md has the bytes and who says what when.
// What a peer says about itself (pid, user) is for people to read; a daemon believes the socket's credentials.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "wire/message_type.h"

namespace kymo::wire {

inline constexpr uint32_t kProtocolVersion = 1;

// What the one that connects is for.
enum class Role : uint32_t {
  Agent = 1,  // inside a program: can be asked for traces
  Tool = 2,   // a command: asks
};

// What an agent can do, bits of Hello::capabilities. Bits that are not known are kept.
inline constexpr uint64_t kCanTrace = 1 << 0;
inline constexpr uint64_t kCanMemory = 1 << 1;      // allocations and snapshots
inline constexpr uint64_t kCanIterations = 1 << 2;  // it calls step
inline constexpr uint64_t kCanLast = 1 << 3;        // a flight recorder: what lies in the past
inline constexpr uint64_t kCanShapes = 1 << 4;
inline constexpr uint64_t kCanStack = 1 << 5;
inline constexpr uint64_t kCanFlops = 1 << 6;
inline constexpr uint64_t kCanModules = 1 << 7;
inline constexpr uint64_t kCanCounters = 1 << 8;

struct Hello {
  static constexpr MessageType kType = MessageType::Hello;
  uint32_t version = kProtocolVersion;         // the newest it speaks
  uint32_t oldest_version = kProtocolVersion;  // the oldest it speaks
  Role role = Role::Agent;
  int32_t pid = 0;  // in its own namespace
  std::optional<uint32_t> uid = {};
  std::vector<int32_t> parents = {};  // its parent first
  std::string name = {};
  std::string command_line = {};  // cut by the sender where it is long
  std::string job = {};           // the scheduler's id; empty: none
  std::string boot_id = {};
  uint64_t pid_namespace = 0;  // as in /proc/self/ns; 0: not told
  uint64_t mount_namespace = 0;
  uint64_t network_namespace = 0;
  uint64_t started_at_ns = 0;  // CLOCK_REALTIME
  uint64_t capabilities = 0;
  std::string kymo_version = {};
  bool operator==(const Hello&) const = default;
};

struct Welcome {
  static constexpr MessageType kType = MessageType::Welcome;
  uint32_t version = kProtocolVersion;  // the one that both speak from now on
  int32_t daemon_pid = 0;
  std::string kymo_version = {};
  std::string boot_id = {};
  // Limits. What goes beyond is refused.
  uint32_t largest_message = kLargestMessage;
  uint32_t most_requests = 0;  // that a peer may have open
  uint64_t longest_ns = 0;     // of a recording
  uint64_t ping_every_ns = 0;  // a peer that is silent for three times as long is forgotten; 0: no pings
  std::vector<std::string> output_folders = {};  // traces go below these; none: anywhere the owner may write
  bool operator==(const Welcome&) const = default;
};

enum class RefusedCode : uint32_t {
  Unknown = 1,     // a message of a type that is not known here
  Malformed = 2,   // one that makes no sense
  Version = 3,     // no version that both speak
  NotAllowed = 4,  // another user's
  Busy = 5,
  Limit = 6,
};

// The answer to anything that gets no other.
struct Refused {
  static constexpr MessageType kType = MessageType::Refused;
  RefusedCode code = RefusedCode::Malformed;
  uint32_t message_type = 0;  // what was refused
  std::string text = {};      // why, and what to do
  bool operator==(const Refused&) const = default;
};

struct Ping {
  static constexpr MessageType kType = MessageType::Ping;
  uint64_t token = 0;
  bool operator==(const Ping&) const = default;
};

struct Pong {
  static constexpr MessageType kType = MessageType::Pong;
  uint64_t token = 0;  // the Ping's
  uint64_t at_ns = 0;  // CLOCK_REALTIME
  bool operator==(const Pong&) const = default;
};

}  // namespace kymo::wire
