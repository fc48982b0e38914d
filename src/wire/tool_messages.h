// Kymo's own messages, the last third: what a command asks of the daemon.
//
// A reply that does not fit into one message comes as several; all but the last say that more follow.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "wire/agent_messages.h"
#include "wire/message_type.h"

namespace kymo::wire {

// Which processes are meant: all that match everything that is said here. A pid matches a process and all below it.
struct Selection {
  std::vector<int32_t> pids = {};
  std::vector<std::string> names = {};
  std::optional<std::string> job = {};  // empty: those without one; not said: any
  bool operator==(const Selection&) const = default;
};

struct List {
  static constexpr MessageType kType = MessageType::List;
  Selection selection = {};
  bool operator==(const List&) const = default;
};

// By which protocol a process is connected.
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
  uint64_t seen_at_ns = 0;  // when it last said anything
  uint64_t capabilities = 0;
  uint64_t request_id = 0;  // what it is busy with; 0: nothing
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
  bool memory = false;         // a timeline of memory instead of a trace
  bool follow = true;          // send a TriggerUpdate for each change
  TraceOptions options = {};
  bool operator==(const Trigger&) const = default;
};

struct TriggerTarget {
  int32_t pid = 0;
  uint64_t request_id = 0;
  RequestState state = RequestState::Queued;
  std::string path = {};  // where its trace will be, as far as that is known
  std::string text = {};
  bool operator==(const TriggerTarget&) const = default;
};

struct TriggerReply {
  static constexpr MessageType kType = MessageType::TriggerReply;
  uint64_t trigger_id = 0;
  std::vector<TriggerTarget> targets = {};
  std::string text = {};  // where there is no target: why
  bool more = false;
  bool operator==(const TriggerReply&) const = default;
};

// A change of one target; the last of a target has the state Finished, Failed, Cancelled or Busy.
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
  uint32_t targets_left = 0;  // 0: this was the last of all
  bool operator==(const TriggerUpdate&) const = default;
};

struct CancelTrigger {
  static constexpr MessageType kType = MessageType::CancelTrigger;
  uint64_t trigger_id = 0;
  bool operator==(const CancelTrigger&) const = default;
};

// Why does nothing match? A look at everything that has to be right.
struct Doctor {
  static constexpr MessageType kType = MessageType::Doctor;
  std::optional<int32_t> pid = {};  // one process; not said: in general
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
