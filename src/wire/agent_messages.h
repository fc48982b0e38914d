// Kymo's own messages, the second third: what a daemon asks of the agent in a program, and what it hears back.
//
// A request has an id that the daemon gives. The agent answers Start and MemoryStart with any number of Status and one
// Done or MemoryDone, whatever happens, so that nobody waits for a trace that never comes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wire/message_type.h"

namespace kymo::wire {

// What to record besides times, bits of TraceOptions::flags. An agent refuses a bit that it does not know.
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
  std::string boot_id = {};  // of the host whose clock that is; another host's agent refuses
  uint64_t duration_ns = 0;
  uint64_t iterations = 0;
  uint64_t iteration_roundup = 0;  // with iterations: begin at the next multiple of it; 0: at the next one
  uint64_t last_ns = 0;            // what a flight recorder still holds, this far back
  uint64_t warmup_ns = 0;          // recorded and thrown away
  uint64_t most_bytes = 0;         // stop when the trace has this size; 0: no limit
  std::string output = {};         // an absolute path, with places for names: output_pattern.h
  TraceFormat format = TraceFormat::Kymo;
  uint64_t flags = 0;
  std::vector<std::string> extra = {};  // "KEY=value", for what has no field yet
  bool operator==(const TraceOptions&) const = default;
};

struct Start {
  static constexpr MessageType kType = MessageType::Start;
  uint64_t id = 0;
  TraceOptions options = {};
  bool operator==(const Start&) const = default;
};

struct Cancel {
  static constexpr MessageType kType = MessageType::Cancel;
  uint64_t id = 0;
  bool operator==(const Cancel&) const = default;
};

// Where a request is. A state that is not known is one that a newer peer has.
enum class RequestState : uint32_t {
  Queued = 1,  // not sent to the process yet
  Waiting = 2,
  WarmingUp = 3,
  Recording = 4,
  Writing = 5,
  Finished = 6,
  Failed = 7,
  Cancelled = 8,
  Busy = 9,  // refused: another one runs
};

struct Status {
  static constexpr MessageType kType = MessageType::Status;
  uint64_t id = 0;
  RequestState state = RequestState::Waiting;
  uint32_t progress = 0;  // of this state, in thousandths
  std::string text = {};
  bool operator==(const Status&) const = default;
};

// Events and losses of a trace that nobody counted: one that libkineto wrote.
inline constexpr uint64_t kUnknownCount = ~uint64_t{0};

struct Done {
  static constexpr MessageType kType = MessageType::Done;
  uint64_t id = 0;
  RequestState state = RequestState::Finished;  // or Failed, Cancelled, Busy
  std::string path = {};                        // what was written; empty: nothing
  uint64_t bytes = 0;
  uint64_t events = 0;     // or kUnknownCount
  uint64_t losses = 0;     // events that the trace says it has not; or kUnknownCount
  int64_t late_ns = 0;     // how much later than asked the first event could be recorded
  uint64_t took_ns = 0;    // from the first to the last moment that was recorded
  std::string error = {};  // empty: none
  bool operator==(const Done&) const = default;
};

// A timeline of memory instead of a trace.
struct MemoryStart {
  static constexpr MessageType kType = MessageType::MemoryStart;
  uint64_t id = 0;
  uint64_t start_at_ns = 0;
  std::string boot_id = {};
  uint64_t duration_ns = 0;
  std::string output = {};
  uint64_t flags = 0;  // kWithStack
  bool operator==(const MemoryStart&) const = default;
};

struct MemoryDone {
  static constexpr MessageType kType = MessageType::MemoryDone;
  uint64_t id = 0;
  RequestState state = RequestState::Finished;
  std::string path = {};
  uint64_t bytes = 0;
  uint64_t allocations = 0;
  uint64_t losses = 0;
  std::string error = {};
  bool operator==(const MemoryDone&) const = default;
};

// An agent tells now and then at which iteration its program is.
struct Step {
  static constexpr MessageType kType = MessageType::Step;
  uint64_t iteration = 0;
  uint64_t at_ns = 0;  // CLOCK_REALTIME, when it began
  bool operator==(const Step&) const = default;
};

}  // namespace kymo::wire
