// Kymo's own protocol: messages between the agent in a program, the daemon and the commands.
//
// They travel over a SOCK_SEQPACKET socket, one message a packet of at most 64 KiB, so that nothing has to be put
// together. A message is a header of 16 bytes and its fields: docs/wire.md. Older and newer ends understand each other:
// a field that is not known is skipped, and a message that is not known is told apart from one that makes no sense.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "wire/agent_messages.h"
#include "wire/message_type.h"
#include "wire/result.h"
#include "wire/session_messages.h"
#include "wire/tool_messages.h"

namespace kymo::wire {

inline constexpr size_t kMessageHeaderBytes = 16;
inline constexpr uint32_t kMessageMagic = 0x574d594b;  // "KYMW"
inline constexpr uint16_t kMessageLayout = 1;

using Message =
    std::variant<Hello, Welcome, Refused, Ping, Pong, Start, Cancel, Status, Done, MemoryStart, MemoryDone, Step, List,
                 ListReply, Trigger, TriggerReply, TriggerUpdate, CancelTrigger, Doctor, DoctorReply>;

enum class PacketKind : uint8_t {
  Good,
  Unknown,    // a message, but of a type that is not known here: answer and go on
  Malformed,  // a message whose fields make no sense: answer and go on
  Foreign,    // no message at all: close
};

// What a packet held.
struct Packet {
  PacketKind kind = PacketKind::Foreign;
  uint16_t type = 0;    // where it is not foreign
  uint32_t serial = 0;  // a reply carries its request's; 0: a message that expects none
  Message message;      // where it is good
  std::string reason;   // where it is not
};

// A whole packet, as received. Copies what it keeps; takes memory in proportion to the packet and not to what it
// claims.
Packet read_message(base::Bytes untrusted);

// The packet. Refused: a message beyond the limits of message_type.h or one that read_message would refuse.
Result<std::vector<std::byte>> message_packet(const Message& message, uint32_t serial = 0);

// What to answer to a packet that is unknown or malformed.
Refused refusal_of(const Packet& packet);

std::string_view name_of(MessageType type);  // "Start"; "?" where it is not known
std::string_view name_of(RequestState state);
bool is_final(RequestState state);  // nothing follows it

// The newest version that both speak; 0: there is none.
uint32_t common_version(const Hello& hello, uint32_t oldest = kProtocolVersion, uint32_t newest = kProtocolVersion);

}  // namespace kymo::wire
