// Kymo's own protocol: messages between the agent in a program, the daemon and the commands.
//
// They use a SOCK_SEQPACKET socket, with one message of at most 64 KiB per packet, so that nothing must be reassembled.
// A message is a header of 16 bytes and its fields: docs/wire.md. Older and newer versions understand each other:
// unknown fields are skipped, and an unknown message is different from one that is not valid.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "wire/agent_messages.h"
#include "wire/message_type.h"
#include "wire/session_messages.h"
#include "wire/tool_messages.h"

namespace kymo::wire {

inline constexpr size_t kMessageHeaderBytes = 16;
inline constexpr uint32_t kMessageMagic = 0x574d594b;  // "KYMW"
inline constexpr uint16_t kMessageLayout = 1;

using Message =
    std::variant<Hello, Welcome, Refused, Ping, Pong, Start, Cancel, Stop, Status, Done, Step, List, ListReply, Trigger,
                 TriggerReply, TriggerUpdate, CancelTrigger, StopTrigger, History, HistoryReply, Doctor, DoctorReply>;

enum class PacketKind : uint8_t {
  Good,
  Unknown,    // a message of an unknown type: answer and continue
  Malformed,  // a message whose fields are not valid: answer and continue
  Foreign,    // not a message: close the connection
};

// The content of a packet.
struct Packet {
  PacketKind kind = PacketKind::Foreign;
  uint16_t type = 0;    // if not foreign
  uint32_t serial = 0;  // a reply has the serial of its request; 0: no reply is expected
  Message message;      // if good
  std::string reason;   // if not good
};

// Reads a complete packet. Copies what it keeps. Memory is proportional to the size of the packet, not to the sizes
// that it claims.
Packet read_message(base::Bytes untrusted);

// Makes the packet. Refuses a message that exceeds the limits of message_type.h or that read_message would refuse.
base::Result<std::vector<std::byte>> message_packet(const Message& message, uint32_t serial = 0);

// The answer to a packet that is unknown or malformed.
Refused refusal_of(const Packet& packet);

std::string_view name_of(MessageType type);  // "Start"; "?" if it is not known
std::string_view name_of(RequestState state);
bool is_known(RequestKind kind);
bool is_final(RequestState state);  // no other state follows

// The newest version that both support; 0: none.
uint32_t common_version(const Hello& hello, uint32_t oldest = kProtocolVersion, uint32_t newest = kProtocolVersion);
// For users, if there is none: both versions, and which side to update. "the program has version 1 of Kymo's protocol,
// …".
std::string versions_differ(std::string_view one, uint32_t its_version, std::string_view other, uint32_t other_version);

}  // namespace kymo::wire
