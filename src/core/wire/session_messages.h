// Kymo's own messages, part one of three: how the two ends of a connection start.
//
// The side that connects sends Hello; the daemon sends Welcome or Refused. docs/wire.md has the bytes and the order of
// messages. What a peer says about itself (pid, user) is only for display; a daemon uses the credentials of the socket.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "wire/message_type.h"

namespace kymo::wire {

// Raised when peers would misunderstand each other. Version 2: Start, Done and Trigger have a kind.
inline constexpr uint32_t kProtocolVersion = 2;

// The kind of the peer that connects.
enum class Role : uint32_t {
  Agent = 1,  // inside a program: records traces on request
  Tool = 2,   // a command: sends requests
};

// What an agent can do: bits of Hello::capabilities. Unknown bits are kept.
inline constexpr uint64_t kCanTrace = 1 << 0;
inline constexpr uint64_t kCanMemory = 1 << 1;      // allocations and snapshots
inline constexpr uint64_t kCanIterations = 1 << 2;  // the program calls kymo::step
inline constexpr uint64_t kCanLast = 1 << 3;        // it has a flight recorder with past data
inline constexpr uint64_t kCanShapes = 1 << 4;
inline constexpr uint64_t kCanStack = 1 << 5;
inline constexpr uint64_t kCanFlops = 1 << 6;
inline constexpr uint64_t kCanModules = 1 << 7;
inline constexpr uint64_t kCanCounters = 1 << 8;

struct Hello {
  static constexpr MessageType kType = MessageType::Hello;
  uint32_t version = kProtocolVersion;         // the newest it supports
  uint32_t oldest_version = kProtocolVersion;  // the oldest it supports
  Role role = Role::Agent;
  int32_t pid = 0;  // in its own namespace
  std::optional<uint32_t> uid = {};
  std::vector<int32_t> parents = {};  // its parent first
  std::string name = {};
  std::string command_line = {};  // the sender truncates a long one
  std::string job = {};           // the scheduler's id; empty: none
  std::string boot_id = {};
  uint64_t pid_namespace = 0;  // as in /proc/self/ns; 0: unknown
  uint64_t mount_namespace = 0;
  uint64_t network_namespace = 0;
  uint64_t started_at_ns = 0;  // CLOCK_REALTIME
  uint64_t capabilities = 0;
  std::string kymo_version = {};
  bool operator==(const Hello&) const = default;
};

struct Welcome {
  static constexpr MessageType kType = MessageType::Welcome;
  uint32_t version = kProtocolVersion;  // the version that both use from now on
  int32_t daemon_pid = 0;
  std::string kymo_version = {};
  std::string boot_id = {};
  // Limits. What exceeds them is refused.
  uint32_t largest_message = kLargestMessage;
  uint32_t max_requests = 0;   // max pending requests of a peer
  uint64_t longest_ns = 0;     // max length of a recording
  uint64_t ping_every_ns = 0;  // a peer that sends nothing for three times as long is removed; 0: no pings
  std::vector<std::string> output_folders = {};  // traces must be below these; empty: anywhere the owner may write
  std::string dynolog = {};        // where it serves programs with libkineto: "@dynolog", a path; empty: it does not
  uint64_t network_namespace = 0;  // of the daemon, as in /proc/self/ns; 0: unknown
  bool operator==(const Welcome&) const = default;
};

enum class RefusedCode : uint32_t {
  Unknown = 1,     // a message of an unknown type
  Malformed = 2,   // a message that is not valid
  Version = 3,     // no version that both support
  NotAllowed = 4,  // it belongs to another user
  Busy = 5,
  Limit = 6,
};

// The answer to every message that gets no other answer.
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
  uint64_t token = 0;  // from the Ping
  uint64_t at_ns = 0;  // CLOCK_REALTIME
  bool operator==(const Pong&) const = default;
};

}  // namespace kymo::wire
