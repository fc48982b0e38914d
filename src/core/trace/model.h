// The content of a trace as plain values. docs/format.md says how each of them is stored in the file.
//
// Every id here (class, track, clock, stack, …) is local to its writer: two writers may both have a class 3.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace kymo::trace {

// The writer of a chunk: one recording process, from fork or exec to its end. The id is random, so that concatenated
// traces never have two writers with the same id.
struct WriterId {
  std::array<uint8_t, 16> bytes{};
  bool operator==(const WriterId&) const = default;
  auto operator<=>(const WriterId&) const = default;
  std::string hex() const;
};

// For a new writer: never the same twice. Throws kymo::Error if the system has no random numbers.
WriterId random_writer_id();

// ---- Event classes -------------------------------------------------------------------------------------------------

enum class FieldType : uint8_t { Int = 1, UInt = 2, Double = 3, String = 4, ByteCount = 5, Pointer = 6, Bool = 7 };

struct Field {
  std::string name;  // empty: it fills the next "{}" of the class's name
  FieldType type = FieldType::Int;
  bool operator==(const Field&) const = default;
};

// Registered once, before its first event. `name` may contain places such as "{}"; readers fill them with the fields.
struct EventClass {
  uint32_t id = 0;  // never 0: an event of class 0 carries its name as its first string value
  std::string name;
  std::string category;
  uint32_t colour = 0;  // 0xAARRGGBB; 0: none
  std::vector<Field> fields;
  bool operator==(const EventClass&) const = default;
};

inline constexpr uint32_t kInlineName = 0;

// Instants that define what other events refer to: one more frame of a stack, a loaded file (docs/heap.md). They are
// not events of the program, so readers use them but do not show them.
inline bool is_definition(const EventClass& event_class) { return event_class.category == "kymo.stack"; }

// ---- Clocks --------------------------------------------------------------------------------------------------------

enum class ClockKind : uint8_t { Monotonic = 1, Tsc = 2, ArmCounter = 3, Device = 4 };

using base::ClockPair;

struct ClockDomain {
  uint32_t id = 0;
  ClockKind kind = ClockKind::Monotonic;
  std::string boot_id;            // of the host; ticks of one kind and boot have the same zero
  uint64_t period_numerator = 1;  // nanoseconds per tick, as a ratio; 0/1: unknown, computed from the pairs
  uint64_t period_denominator = 1;
  uint32_t wrap_bits = 64;
  std::vector<ClockPair> pairs;  // ascending
  bool operator==(const ClockDomain&) const = default;
};

// ---- Tracks --------------------------------------------------------------------------------------------------------

enum class TrackKind : uint8_t { Thread = 1, DeviceQueue = 2, Process = 3 };

struct Track {
  uint32_t id = 0;
  TrackKind kind = TrackKind::Thread;
  uint32_t clock = 0;
  uint64_t tid = 0;  // the system's thread id, for a thread
  std::string name;
  std::string device_uuid;  // for a device queue: the same for all processes that use the device
  uint64_t context = 0, queue = 0;
  std::string device_name{};  // for people; empty in older files, or if it is not known
  // Equal for two queues only if they are on the same device, as far as the trace says.
  const std::string& device_id() const { return device_uuid.empty() ? device_name : device_uuid; }
  // How people call the device.
  const std::string& device() const { return device_name.empty() ? device_uuid : device_name; }
  bool operator==(const Track&) const = default;
};

// ---- Events --------------------------------------------------------------------------------------------------------

// A range that is open at the start or end of a batch. Lists of them have the outermost first.
struct OpenRange {
  uint64_t start = 0;
  uint32_t class_id = 0;
  uint64_t correlation = 0;
  std::vector<uint64_t> ints;  // its field values, as in Values
  std::vector<double> doubles;
  std::string text;
  bool operator==(const OpenRange&) const = default;
};

// Field values of many events, in event order, one stream per type. The class of an event says what to read from which
// stream. Int, UInt, ByteCount, Pointer and Bool read one of `ints`; Double reads one of `doubles`; String reads its
// length from `ints` and its bytes from `text`. An event of class 0 reads one String, its name.
struct Values {
  std::vector<uint64_t> ints;
  std::vector<double> doubles;
  std::string text;
  bool operator==(const Values&) const = default;
};

// Nested ranges, sorted by their ends (children before parents). Parallel arrays.
struct Ranges {
  std::vector<uint64_t> end;
  std::vector<uint64_t> duration;
  std::vector<uint32_t> class_id;
  std::vector<uint16_t> depth;        // zero-based
  std::vector<uint16_t> lane;         // empty: all 0; ranges that overlap without nesting have different lanes
  std::vector<uint64_t> correlation;  // empty: none
  Values values;
  size_t size() const { return end.size(); }
};

enum class PointKind : uint8_t {
  Instant = 1,
  Counter = 2,     // one value, Int or Double, in the class's first field
  AsyncBegin = 3,  // `id` is a handle, unique in the process; the end may be on another track
  AsyncEnd = 4,
  FlowBegin = 5,  // `id` connects the range that is open here to the ranges of the same flow
  FlowStep = 6,
  FlowEnd = 7,
  Allocation = 8,  // `id` is the address; fields have the bytes and more
  Free = 9,
  Sample = 10,  // `id` is the stack
};

constexpr bool is_of_flow(PointKind kind) { return kind >= PointKind::FlowBegin && kind <= PointKind::FlowEnd; }
constexpr bool is_of_memory(PointKind kind) { return kind == PointKind::Allocation || kind == PointKind::Free; }

// What everything that Kymo writes calls a kind.
inline constexpr std::string_view kPointKindNames[] = {
    "point",  // a kind of a later version
    "instant",   "counter",  "async_begin", "async_end", "flow_begin",
    "flow_step", "flow_end", "allocation",  "free",      "sample",
};
constexpr std::string_view name_of(PointKind kind) {
  const auto index = static_cast<size_t>(kind);
  return kPointKindNames[index < std::size(kPointKindNames) ? index : 0];
}

// Everything that is a point in time and not a nested range, in recorded order. Parallel arrays.
struct Points {
  std::vector<uint64_t> time;
  std::vector<PointKind> kind;
  std::vector<uint32_t> class_id;
  std::vector<uint64_t> id;  // depends on the kind; 0: none
  Values values;
  size_t size() const { return time.size(); }
};

// The content of one chunk of events: a continuous part of one track, from one ring.
struct EventBatch {
  uint32_t track = 0;
  uint32_t ring = 0;  // with the sequence numbers: what recovery need not read again
  uint64_t sequence_begin = 0, sequence_end = 0;
  std::vector<OpenRange> opening;  // open before the first event
  std::vector<OpenRange> closing;  // open after the last event
  Ranges ranges;
  Points points;
};

// A summary of a batch, for a viewer that does not read its events.
struct DepthSummary {
  uint16_t depth = 0;
  uint64_t first = 0, last = 0;  // time span, in ticks
  uint64_t count = 0, total = 0, longest = 0;
  bool operator==(const DepthSummary&) const = default;
};

// ---- Stacks --------------------------------------------------------------------------------------------------------

struct Module {
  uint32_t id = 0;
  std::string path, build_id;
  uint64_t base = 0, size = 0;
  bool operator==(const Module&) const = default;
};
struct Frame {
  uint32_t id = 0;
  uint32_t module = 0;
  uint64_t offset = 0;
  std::string function, file;
  uint32_t line = 0;
  bool operator==(const Frame&) const = default;
};
struct Stack {
  uint32_t id = 0;
  std::vector<uint32_t> frames;
  bool operator==(const Stack&) const = default;
};  // innermost first

// ---- Losses, and the cost of recording -----------------------------------------------------------------------------

enum class LossCause : uint16_t {
  RingFull = 1,          // policy drop
  CollectorStalled = 2,  // policy block gave up after a second without progress
  Overwritten = 3,       // policy overwrite
  UnmatchedPop = 4,
  UnknownRange = 5,  // range_end of a handle that was never given out or has ended already
  NoSlot = 6,        // more threads at a time than the segment has slots, or no memory for one more
  SignalBufferFull = 7,
  TextTruncated = 8,
  DamagedRecord = 9,  // a record in the segment is not valid (a write was interrupted)
  WriteFailed = 10,   // a chunk could not be written to the file
  Clock = 11,         // an event whose clock cannot be converted
  LateStart = 12,
  Reported = 13,        // reported by a profiler as text: the detail
  Unrecorded = 14,      // whole processes: the detail says which ones and why
  Truncated = 15,       // the file was truncated while it was written; the count is in bytes
  NotImported = 16,     // of the trace of another tool: the detail says what
  SamplesLost = 17,     // the kernel's ring was full: samples, or records about threads and files
  SamplingPaused = 18,  // the kernel stopped sampling for a moment, because it took too much time
  NotDelivered = 19,    // an interface's newest work on devices, when the process was killed; the detail is its name
  SourceDamaged = 20,   // of the trace of another tool: what cannot be read, because it was cut off or is damaged
};

struct Loss {
  LossCause cause = LossCause::RingFull;
  uint32_t track = 0;
  uint64_t count = 0;
  uint64_t first = 0, last = 0;  // ticks of the track's clock
  std::string detail;
  bool operator==(const Loss&) const = default;
};

// The tool's own cost on a track so far. The newest record counts.
struct Cost {
  uint32_t track = 0;
  uint64_t events = 0;                 // records stored
  uint64_t picoseconds_per_event = 0;  // measured when recording began
  uint64_t blocked_ns = 0;             // waiting for the collector
  uint64_t collector_cpu_ns = 0;       // only for track 0: the cost of collecting, outside the program
  bool operator==(const Cost&) const = default;
};

// ---- Origin --------------------------------------------------------------------------------------------------------

// The process of a writer. It is written first.
struct Origin {
  std::string session;  // hex; the same for all writers of one recording
  uint64_t pid = 0, parent_pid = 0;
  std::string host, boot_id, executable;
  std::vector<std::string> command_line;
  uint64_t start_realtime_ns = 0;
  std::string policy;  // "block", "drop", "overwrite"
  std::string kymo_version;
  // Relevant environment variables, versions, the user's own.
  std::vector<std::pair<std::string, std::string>> metadata;
  // 1: the trace of this writer is complete only if it has an Ending. 0: written at once, or by a version without
  // endings.
  uint8_t announces_ending = 0;
  bool operator==(const Origin&) const = default;
};

// The short name of a program: the last part of a path such as /usr/bin/python3. Traces of other tools name a process
// by any text, also by a command line; such a text stays as it is.
inline std::string program_name(std::string_view text) {
  const bool is_path = text.starts_with('/') && text.find(" /") == text.npos && text.find(" -") == text.npos;
  return std::string(is_path ? text.substr(text.find_last_of('/') + 1) : text);
}

// What the user called it, or else the name of the executable: redis-server is a link to redis-check-rdb. Without the
// title that a program gives itself ("nginx: worker process") and the mark of a login shell ("-bash"). Empty if the
// origin has neither.
inline std::string program_name(const Origin& origin) {
  std::string_view word = origin.command_line.empty() ? std::string_view() : origin.command_line[0];
  if (word == origin.executable) return program_name(origin.executable);
  word = word.substr(0, word.find_first_of(" :"));
  word.remove_prefix(word.find_last_of('/') + 1);
  if (word.starts_with('-')) word.remove_prefix(1);
  return word.empty() ? program_name(origin.executable) : std::string(word);
}

// The part of a recording that was asked for. What its writer recorded outside of it does not count: readers leave it
// out, and cut ranges at its edges. The newest record counts. Times are the host's CLOCK_MONOTONIC, as in ClockPair.
// The start is inside, the end is not: an event at the edge between two windows is in the second only.
struct Window {
  uint64_t from_ns = 0;
  uint64_t to_ns = 0;  // 0: it has no end. The end was not reached, or its time is not known yet
  bool operator==(const Window&) const = default;
};

// The last record of a writer: everything that it recorded is in the trace.
struct Ending {
  // When the process was last known to be alive, in ticks of its clock 1: its open ranges lasted until then. 0: not
  // known.
  uint64_t alive_until = 0;
  bool operator==(const Ending&) const = default;
};

}  // namespace kymo::trace
