// Kymo's own messages, part three of three: requests of a command to the daemon.
//
// A reply that does not fit into one message is sent as several; all except the last have `more` set.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "wire/agent_messages.h"
#include "wire/message_type.h"

namespace kymo::wire {

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
  uint64_t capabilities = 0;
  uint64_t request_id = 0;  // its active request; 0: none
  RequestState state = RequestState::Waiting;
  std::optional<uint64_t> iteration = {};
  uint64_t pid_namespace = 0;
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
struct TriggerUpdate {
  static constexpr MessageType kType = MessageType::TriggerUpdate;
  uint64_t trigger_id = 0;
  int32_t pid = 0;
  RequestState state = RequestState::Queued;
  uint32_t progress = 0;
  std::string text = {};
  std::string path = {};
  uint64_t bytes = 0;
  uint64_t events = 0;
  uint64_t losses = 0;
  int64_t late_ns = 0;
  std::string error = {};
  uint32_t targets_left = 0;  // 0: this was the last update of all
  bool operator==(const TriggerUpdate&) const = default;
};

struct CancelTrigger {
  static constexpr MessageType kType = MessageType::CancelTrigger;
  uint64_t trigger_id = 0;
  bool operator==(const CancelTrigger&) const = default;
};

// Like CancelTrigger, but the recordings end as with Stop: the traces so far are kept.
struct StopTrigger {
  static constexpr MessageType kType = MessageType::StopTrigger;
  uint64_t trigger_id = 0;
  bool operator==(const StopTrigger&) const = default;
};

// Asks for the state of the requests of recent triggers, and for their outcomes.
struct History {
  static constexpr MessageType kType = MessageType::History;
  uint64_t trigger_id = 0;  // 0: of all
  bool operator==(const History&) const = default;
};

struct HistoryEntry {
  uint64_t trigger_id = 0;
  int32_t pid = 0;
  uint32_t uid = 0;
  std::string name = {};
  uint64_t asked_at_ns = 0;  // CLOCK_REALTIME
  uint64_t ended_at_ns = 0;  // 0: it has not ended
  RequestState state = RequestState::Queued;
  std::string path = {};
  uint64_t bytes = 0;
  uint64_t events = 0;  // or kUnknownCount; the same for losses
  uint64_t losses = 0;
  int64_t late_ns = 0;
  std::string text = {};  // why it failed, or what else there is to say
  bool operator==(const HistoryEntry&) const = default;
};

struct HistoryReply {
  static constexpr MessageType kType = MessageType::HistoryReply;
  std::vector<HistoryEntry> entries = {};  // the oldest first
  bool more = false;
  bool operator==(const HistoryReply&) const = default;
};

// Asks why no process matches: checks everything that must be right.
struct Doctor {
  static constexpr MessageType kType = MessageType::Doctor;
  std::optional<int32_t> pid = {};  // one process; no value: in general
  bool operator==(const Doctor&) const = default;
};

enum class Verdict : uint32_t {
  Good = 1,
  Doubtful = 2,
  Bad = 3,
};

struct Finding {
  std::string name = {};  // "socket", "pid namespace"
  Verdict verdict = Verdict::Good;
  std::string text = {};
  std::string remedy = {};
  bool operator==(const Finding&) const = default;
};

struct DoctorReply {
  static constexpr MessageType kType = MessageType::DoctorReply;
  std::vector<Finding> findings = {};
  bool more = false;
  bool operator==(const DoctorReply&) const = default;
};

}  // namespace kymo::wire
