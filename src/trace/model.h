// What a trace is made of, as plain values. docs/format.md says how each of them lies in the file.
//
// Every id here (class, track, clock, stack, …) is scoped to its writer: two writers may both have a class 3.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace kymo::trace {

// Who wrote a chunk: one recording process between fork or exec and its end. Random, so that concatenating traces never
// makes two writers one.
struct WriterId {
  std::array<uint8_t, 16> bytes{};
  bool operator==(const WriterId&) const = default;
  auto operator<=>(const WriterId&) const = default;
  std::string hex() const;
};

// ---- Event classes -------------------------------------------------------------------------------------------------

enum class FieldType : uint8_t { Int = 1, UInt = 2, Double = 3, String = 4, ByteCount = 5, Pointer = 6, Bool = 7 };

struct Field {
  std::string name;  // empty: the next "{}" of the class's name
  FieldType type = FieldType::Int;
  bool operator==(const Field&) const = default;
};

// Registered once, before its first event. `name` may hold "{}" places, filled from the unnamed fields when read.
struct EventClass {
  uint32_t id = 0;  // never 0: an event of class 0 carries its name as its first string value
  std::string name;
  std::string category;
  uint32_t colour = 0;  // 0xAARRGGBB; 0: none
  std::vector<Field> fields;
  bool operator==(const EventClass&) const = default;
};

inline constexpr uint32_t kInlineName = 0;

// ---- Clocks --------------------------------------------------------------------------------------------------------

enum class ClockKind : uint8_t { Monotonic = 1, Tsc = 2, ArmCounter = 3, Device = 4 };

// One moment read on both clocks: the domain's ticks fell within ±error_ns of the host's times.
struct ClockPair {
  uint64_t ticks = 0;
  uint64_t monotonic_ns = 0;  // CLOCK_MONOTONIC
  uint64_t realtime_ns = 0;   // CLOCK_REALTIME, since 1970
  uint64_t error_ns = 0;
  bool operator==(const ClockPair&) const = default;
};

struct ClockDomain {
  uint32_t id = 0;
  ClockKind kind = ClockKind::Monotonic;
  std::string boot_id;            // of the host; ticks of one kind and boot share a zero
  uint64_t period_numerator = 1;  // nanoseconds a tick, as a ratio; 0/1: unknown, taken from the pairs
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
  std::string device_uuid;  // for a device queue, so that two processes on one device come together
  uint64_t context = 0, queue = 0;
  bool operator==(const Track&) const = default;
};

// ---- Events --------------------------------------------------------------------------------------------------------

// A range that is open at one end of a batch: outermost first.
struct OpenRange {
  uint64_t start = 0;
  uint32_t class_id = 0;
  uint64_t correlation = 0;
  std::vector<uint64_t> ints;  // its field values, as in Values
  std::vector<double> doubles;
  std::string text;
  bool operator==(const OpenRange&) const = default;
};

// Field values of many events in event order, one stream a type: the class of an event says what to take from which.
// Int, UInt, ByteCount, Pointer and Bool take one of `ints`; Double one of `doubles`; String takes its length from
// `ints` and its bytes from `text`. An event of class 0 takes one String, its name.
struct Values {
  std::vector<uint64_t> ints;
  std::vector<double> doubles;
  std::string text;
  bool operator==(const Values&) const = default;
};

// Nested ranges in the order of their ends (children before parents). Parallel arrays.
struct Ranges {
  std::vector<uint64_t> end;
  std::vector<uint64_t> duration;
  std::vector<uint32_t> class_id;
  std::vector<uint16_t> depth;        // zero-based
  std::vector<uint16_t> lane;         // empty: all 0; events that overlap without nesting have different lanes
  std::vector<uint64_t> correlation;  // empty: none
  Values values;
  size_t size() const { return end.size(); }
};

enum class PointKind : uint8_t {
  Instant = 1,
  Counter = 2,     // one value, Int or Double, as the class's first field
  AsyncBegin = 3,  // `id` is the process-unique handle; the end may be on another track
  AsyncEnd = 4,
  FlowBegin = 5,  // `id` ties the range open here to the ranges of the same flow
  FlowStep = 6,
  FlowEnd = 7,
  Allocation = 8,  // `id` is the address; fields say bytes, and what else is known
  Free = 9,
  Sample = 10,  // `id` is the stack
};

// Everything that is a moment rather than a nested range, in recorded order. Parallel arrays.
struct Points {
  std::vector<uint64_t> time;
  std::vector<PointKind> kind;
  std::vector<uint32_t> class_id;
  std::vector<uint64_t> id;  // meaning by kind; 0: none
  Values values;
  size_t size() const { return time.size(); }
};

// What one chunk of events holds: an unbroken piece of one track, from one ring.
struct EventBatch {
  uint32_t track = 0;
  uint32_t ring = 0;  // with the sequence numbers, says what recovery need not read again
  uint64_t sequence_begin = 0, sequence_end = 0;
  std::vector<OpenRange> opening;  // open before the first event
  std::vector<OpenRange> closing;  // open after the last
  Ranges ranges;
  Points points;
};

// What a viewer needs of a batch without reading its events.
struct DepthSummary {
  uint16_t depth = 0;
  uint64_t first = 0, last = 0;  // span, in ticks
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

// ---- What was lost, and what recording cost ------------------------------------------------------------------------

enum class LossCause : uint16_t {
  RingFull = 1,          // policy drop
  CollectorStalled = 2,  // policy block gave up after a second without progress
  Overwritten = 3,       // policy overwrite
  UnmatchedPop = 4,
  UnknownRange = 5,  // range_end of a handle that was never given or already ended
  NoSlot = 6,        // more threads at once than the segment has places for, or no memory for one more
  SignalBufferFull = 7,
  TextTruncated = 8,
  DamagedRecord = 9,  // a record in the segment made no sense (a write was cut off)
  WriteFailed = 10,   // the file could not take a chunk
  Clock = 11,         // an event whose clock cannot be converted
  LateStart = 12,
  Told = 13,        // by a profiler, in words: the detail
  Unrecorded = 14,  // whole processes: the detail says which and why
};

struct Loss {
  LossCause cause = LossCause::RingFull;
  uint32_t track = 0;
  uint64_t count = 0;
  uint64_t first = 0, last = 0;  // ticks of the track's clock
  std::string detail;
  bool operator==(const Loss&) const = default;
};

// The tool's own cost on a track so far; the newest statement counts.
struct Cost {
  uint32_t track = 0;
  uint64_t events = 0;                 // records stored
  uint64_t picoseconds_per_event = 0;  // measured when recording began
  uint64_t blocked_ns = 0;             // waiting for the collector
  uint64_t collector_cpu_ns = 0;       // track 0 only: what collecting cost beside the program
  bool operator==(const Cost&) const = default;
};

// ---- Where it comes from -------------------------------------------------------------------------------------------

// The process behind a writer, written first.
struct Origin {
  std::string session;  // hex; the same for all writers of one recording
  uint64_t pid = 0, parent_pid = 0;
  std::string host, boot_id, executable;
  std::vector<std::string> command_line;
  uint64_t start_realtime_ns = 0;
  std::string policy;  // "block", "drop", "overwrite"
  std::string kymo_version;
  std::vector<std::pair<std::string, std::string>> metadata;  // environment of interest, versions, the user's own
  // 1: all of it is there only when an Ending is. 0: written at once, or by a version that knew no endings.
  uint8_t announces_ending = 0;
  bool operator==(const Origin&) const = default;
};

// A writer's last words: everything it recorded is in the trace.
struct Ending {
  // The last sign of life, in ticks of its clock 1: what it had not ended lasted until then. 0: not known.
  uint64_t alive_until = 0;
  bool operator==(const Ending&) const = default;
};

}  // namespace kymo::trace
