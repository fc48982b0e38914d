// Kymo's own protocol: messages between the agent in a program, the daemon and the commands.
//
// They use a SOCK_SEQPACKET socket, with one message of at most 64 KiB per packet, so that nothing must be reassembled.
// A message is a header of 16 bytes and its fields: docs/wire.md. Older and newer versions understand each other:
// unknown fields are skipped, and an unknown message is different from one that is not valid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace kymo::wire {

// ---- The types of messages, and the limits for all of them

// Numbers are never reused; 4, 5, 20 to 23, 38, 39 and 42 were used once. Numbers from 0x8000 are reserved for private
// use.
enum class MessageType : uint16_t {
  Hello = 1,
  Welcome = 2,
  Refused = 3,

  Start = 16,
  Cancel = 17,
  Status = 18,
  Done = 19,

  List = 32,
  ListReply = 33,
  Trigger = 34,
  TriggerReply = 35,
  TriggerUpdate = 36,
  CancelTrigger = 37,
  History = 40,
  HistoryReply = 41,
};

inline constexpr size_t kLargestMessage = size_t{64} * 1024;  // with the header
inline constexpr size_t kLongestText = 4096;                  // a path, a command line, an explanation
inline constexpr size_t kMaxItems = 1024;                     // max items in a list
inline constexpr uint64_t kLongestTraceNs = 7ull * 24 * 3600 * 1'000'000'000;
inline constexpr uint32_t kWholeProgress = 1000;  // thousandths

// ---- How the two ends of a connection start
//
// The side that connects sends Hello; the daemon sends Welcome or Refused. docs/wire.md has the bytes and the order of
// messages. What a peer says about itself (pid, user) is only for display; a daemon uses the credentials of the socket.

// Raised when peers would misunderstand each other. Version 3: Cancel can keep what was recorded.
inline constexpr uint32_t kProtocolVersion = 3;

// The kind of the peer that connects.
enum class Role : uint32_t {
  Agent = 1,  // inside a program: records traces on request
  Tool = 2,   // a command: sends requests
};

struct Hello {
  static constexpr MessageType kType = MessageType::Hello;
  uint32_t version = kProtocolVersion;         // the newest it supports
  uint32_t oldest_version = kProtocolVersion;  // the oldest it supports
  Role role = Role::Agent;
  int32_t pid = 0;  // in its own namespace
  std::string name = {};
  std::string command_line = {};  // the sender truncates a long one
  std::string job = {};           // the scheduler's id; empty: none
  std::string kymo_version = {};
  bool operator==(const Hello&) const = default;
};

struct Welcome {
  static constexpr MessageType kType = MessageType::Welcome;
  uint32_t version = kProtocolVersion;  // the version that both use from now on
  std::string kymo_version = {};
  std::vector<std::string> output_folders = {};  // traces must be below these; empty: anywhere the owner may write
  std::string dynolog = {};          // where it serves programs with libkineto: "@dynolog", a path; empty: it does not
  std::string dynolog_problem = {};  // why it does not serve them yet, although it should
  uint64_t network_namespace = 0;    // of the daemon, as in /proc/self/ns; 0: unknown
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

// ---- Requests of a daemon to the agent in a program, and their answers
//
// The daemon gives each request an id. The agent answers Start with any number of Status and always with one Done, so
// that nobody waits forever for a trace.

// What a request asks for. An unknown kind comes from a newer peer and is refused by the receiver.
enum class RequestKind : uint32_t {
  Trace = 1,
  Memory = 2,  // a timeline of memory instead of a trace; it needs a duration
};

// What to record besides times: bits of TraceOptions::flags. An agent refuses unknown bits.
inline constexpr uint64_t kWithShapes = 1 << 0;
inline constexpr uint64_t kWithMemory = 1 << 1;
inline constexpr uint64_t kWithStack = 1 << 2;
inline constexpr uint64_t kWithFlops = 1 << 3;
inline constexpr uint64_t kWithModules = 1 << 4;

// Of a file whose name has no extension of a format.
enum class TraceFormat : uint32_t {
  Kymo = 1,
  KinetoJson = 2,
};

// What to record, and when. Exactly one of duration_ns, iterations and last_ns is not 0.
struct TraceOptions {
  uint64_t start_at_ns = 0;  // CLOCK_REALTIME; 0: now
  std::string boot_id = {};  // of the host of that clock; an agent on another host refuses
  uint64_t duration_ns = 0;
  uint64_t iterations = 0;
  uint64_t iteration_roundup = 0;  // with iterations: start at the next multiple of it; 0: at the next iteration
  uint64_t last_ns = 0;            // the last part of a flight recorder, of this length
  std::string output = {};         // an absolute path with placeholders: output_pattern.h
  TraceFormat format = TraceFormat::Kymo;
  uint64_t flags = 0;
  bool operator==(const TraceOptions&) const = default;
};

struct Start {
  static constexpr MessageType kType = MessageType::Start;
  uint64_t id = 0;
  TraceOptions options = {};
  RequestKind kind = RequestKind::Trace;
  // The pid of the process as the daemon sees it, for {pid} in the output. Two containers may have the same inner pid.
  // No value: the process uses the pid that it has itself.
  std::optional<int32_t> pid = {};
  std::optional<uint64_t> asked_at_ns = {};  // CLOCK_REALTIME, when the daemon got the request; for `late_ns`
  bool operator==(const Start&) const = default;
};

// Ends the recording now. One that has not started is cancelled.
struct Cancel {
  static constexpr MessageType kType = MessageType::Cancel;
  uint64_t id = 0;
  bool keep = false;  // the trace contains what was recorded so far; otherwise there is none
  bool operator==(const Cancel&) const = default;
};

// The state of a request. An unknown state comes from a newer peer.
enum class RequestState : uint32_t {
  Queued = 1,  // not sent to the process yet
  Waiting = 2,
  Recording = 4,
  Writing = 5,
  Finished = 6,
  Failed = 7,
  Cancelled = 8,
  Busy = 9,  // refused: another request is active
};

struct Status {
  static constexpr MessageType kType = MessageType::Status;
  uint64_t id = 0;
  RequestState state = RequestState::Waiting;
  uint32_t progress = 0;  // of this state, 0 to 1000
  std::string text = {};
  bool operator==(const Status&) const = default;
};

// The number of events and losses is unknown: libkineto wrote the trace.
inline constexpr uint64_t kUnknownCount = ~uint64_t{0};

// What became of a request, or what its state is.
struct Outcome {
  RequestState state = RequestState::Finished;
  std::string path = {};  // the file that was written, or will be; empty: none
  uint64_t bytes = 0;
  uint64_t events = 0;    // allocations if the kind is Memory; or kUnknownCount
  uint64_t losses = 0;    // events that the trace reports as lost; or kUnknownCount
  int64_t late_ns = 0;    // delay between the requested start and the first event that could be recorded
  uint64_t took_ns = 0;   // from the first to the last recorded time
  std::string text = {};  // why it failed, or what else there is to say
  bool operator==(const Outcome&) const = default;
};

// The state is Finished, Failed, Cancelled or Busy.
struct Done : Outcome {
  static constexpr MessageType kType = MessageType::Done;
  uint64_t id = 0;
  RequestKind kind = RequestKind::Trace;
  bool operator==(const Done&) const = default;
};

// ---- Requests of a command to the daemon
//
// A reply that does not fit into one message is sent as several; all except the last have `more` set.

// Selects the processes that match all conditions given here. A pid matches a process and all its descendants.
struct Selection {
  std::vector<int32_t> pids = {};
  std::vector<std::string> names = {};
  std::optional<std::string> job = {};  // empty: processes without a job; no value: any
  std::vector<int32_t> except = {};     // not these processes; their descendants may match
  bool operator==(const Selection&) const = default;
};

struct List {
  static constexpr MessageType kType = MessageType::List;
  Selection selection = {};
  bool operator==(const List&) const = default;
};

// The protocol of a process.
enum class Protocol : uint32_t {
  Kymo = 1,
  Kineto = 2,
};

struct ProcessEntry {
  int32_t pid = 0;  // as the daemon sees it
  uint32_t uid = 0;
  Protocol protocol = Protocol::Kymo;
  std::vector<int32_t> parents = {};
  std::string name = {};
  std::string command_line = {};
  std::string job = {};
  uint64_t started_at_ns = 0;
  uint64_t seen_at_ns = 0;  // when its last message came
  uint64_t request_id = 0;  // its active request; 0: none
  RequestState state = RequestState::Waiting;
  bool operator==(const ProcessEntry&) const = default;
};

struct ListReply {
  static constexpr MessageType kType = MessageType::ListReply;
  std::vector<ProcessEntry> processes = {};
  bool more = false;
  bool operator==(const ListReply&) const = default;
};

struct Trigger {
  static constexpr MessageType kType = MessageType::Trigger;
  Selection selection = {};
  uint32_t process_limit = 0;  // 0: no limit
  bool follow = true;          // send a TriggerUpdate for each change
  TraceOptions options = {};
  RequestKind kind = RequestKind::Trace;
  bool operator==(const Trigger&) const = default;
};

struct TriggerTarget {
  int32_t pid = 0;
  uint64_t request_id = 0;
  RequestState state = RequestState::Queued;
  std::string path = {};  // where its trace will be, if known
  std::string text = {};
  bool polls = false;  // it gets the request at its next poll, and reports nothing before it ends
  bool operator==(const TriggerTarget&) const = default;
};

struct TriggerReply {
  static constexpr MessageType kType = MessageType::TriggerReply;
  uint64_t trigger_id = 0;
  std::vector<TriggerTarget> targets = {};
  std::string text = {};  // if there is no target: why
  bool more = false;
  bool operator==(const TriggerReply&) const = default;
};

// A change of one target. Its last update has the state Finished, Failed, Cancelled or Busy.
struct TriggerUpdate : Outcome {
  static constexpr MessageType kType = MessageType::TriggerUpdate;
  uint64_t trigger_id = 0;
  int32_t pid = 0;
  uint32_t progress = 0;
  uint32_t targets_left = 0;  // 0: this was the last update of all
  bool operator==(const TriggerUpdate&) const = default;
};

struct CancelTrigger {
  static constexpr MessageType kType = MessageType::CancelTrigger;
  uint64_t trigger_id = 0;
  bool keep = false;  // as in Cancel
  bool operator==(const CancelTrigger&) const = default;
};

// Asks for the state of the requests of recent triggers, and for their outcomes.
struct History {
  static constexpr MessageType kType = MessageType::History;
  uint64_t trigger_id = 0;  // 0: of all
  bool operator==(const History&) const = default;
};

struct HistoryEntry : Outcome {
  uint64_t trigger_id = 0;
  int32_t pid = 0;
  uint32_t uid = 0;
  std::string name = {};
  uint64_t asked_at_ns = 0;  // CLOCK_REALTIME
  uint64_t ended_at_ns = 0;  // 0: it has not ended
  bool operator==(const HistoryEntry&) const = default;
};

struct HistoryReply {
  static constexpr MessageType kType = MessageType::HistoryReply;
  std::vector<HistoryEntry> entries = {};  // the oldest first
  bool more = false;
  bool operator==(const HistoryReply&) const = default;
};

// ---- Packets

inline constexpr size_t kMessageHeaderBytes = 16;
inline constexpr uint32_t kMessageMagic = 0x574d594b;  // "KYMW"
inline constexpr uint16_t kMessageLayout = 1;

using Message = std::variant<Hello, Welcome, Refused, Start, Cancel, Status, Done, List, ListReply, Trigger,
                             TriggerReply, TriggerUpdate, CancelTrigger, History, HistoryReply>;

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

// Makes the packet. Refuses a message that exceeds the limits above or that read_message would refuse.
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

base::Check check_options(const TraceOptions& options);

// ---- The path of the daemon's socket, for programs, commands and the daemon itself
//
// The socket of a user's own daemon is in the system's folder for that user; the socket of a host's daemon is in /run.
// Programs and commands try the user's first. Each is in its own folder, which other users cannot write.

inline constexpr std::string_view kHostSocket = "/run/kymo/kymod.sock";
inline constexpr std::string_view kUserSocketBelow = "/kymo/kymod.sock";

// `runtime_folder` is $XDG_RUNTIME_DIR. If it is not set or not an absolute path, uses the folder that systemd makes
// for it.
inline std::string user_socket(const char* runtime_folder, unsigned uid) {
  const bool is_set = runtime_folder != nullptr && runtime_folder[0] == '/';
  std::string path = is_set ? runtime_folder : "/run/user/" + std::to_string(uid);
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path.append(kUserSocketBelow);
}

}  // namespace kymo::wire
