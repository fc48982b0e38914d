// Kymo's own messages, part two of three: requests of a daemon to the agent in a program, and their answers.
//
// The daemon gives each request an id. The agent answers Start with any number of Status and always with one Done, so
// that nobody waits forever for a trace.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "wire/message_type.h"

namespace kymo::wire {

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
inline constexpr uint64_t kWithCounters = 1 << 5;

enum class TraceFormat : uint32_t {
  Kymo = 1,
  KinetoJson = 2,
  Perfetto = 3,
};

// What to record, and when. Exactly one of duration_ns, iterations and last_ns is not 0.
struct TraceOptions {
  uint64_t start_at_ns = 0;  // CLOCK_REALTIME; 0: now
  std::string boot_id = {};  // of the host of that clock; an agent on another host refuses
  uint64_t duration_ns = 0;
  uint64_t iterations = 0;
  uint64_t iteration_roundup = 0;  // with iterations: start at the next multiple of it; 0: at the next iteration
  uint64_t last_ns = 0;            // the last part of a flight recorder, of this length
  uint64_t warmup_ns = 0;          // recorded and discarded
  uint64_t max_bytes = 0;          // max size of the trace: recording stops there; 0: no limit
  std::string output = {};         // an absolute path with placeholders: output_pattern.h
  TraceFormat format = TraceFormat::Kymo;
  uint64_t flags = 0;
  std::vector<std::string> extra = {};  // "KEY=value", for options without a field
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

struct Cancel {
  static constexpr MessageType kType = MessageType::Cancel;
  uint64_t id = 0;
  bool operator==(const Cancel&) const = default;
};

// Ends the recording now. Its trace contains what was recorded so far. A recording that has not started is cancelled.
struct Stop {
  static constexpr MessageType kType = MessageType::Stop;
  uint64_t id = 0;
  bool operator==(const Stop&) const = default;
};

// The state of a request. An unknown state comes from a newer peer.
enum class RequestState : uint32_t {
  Queued = 1,  // not sent to the process yet
  Waiting = 2,
  WarmingUp = 3,
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

struct Done {
  static constexpr MessageType kType = MessageType::Done;
  uint64_t id = 0;
  RequestState state = RequestState::Finished;  // or Failed, Cancelled, Busy
  std::string path = {};                        // the file that was written; empty: none
  uint64_t bytes = 0;
  uint64_t events = 0;     // allocations if the kind is Memory; or kUnknownCount
  uint64_t losses = 0;     // events that the trace reports as lost; or kUnknownCount
  int64_t late_ns = 0;     // delay between the requested start and the first event that could be recorded
  uint64_t took_ns = 0;    // from the first to the last recorded time
  std::string error = {};  // empty: none
  RequestKind kind = RequestKind::Trace;
  bool operator==(const Done&) const = default;
};

// An agent reports from time to time the current iteration of its program.
struct Step {
  static constexpr MessageType kType = MessageType::Step;
  uint64_t iteration = 0;
  uint64_t at_ns = 0;  // CLOCK_REALTIME, when it began
  bool operator==(const Step&) const = default;
};

}  // namespace kymo::wire
