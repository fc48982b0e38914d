// Builds a Kymo trace from the events of another format.
//
//   TraceBuilder builder;
//   const uint32_t process = builder.add_process({.pid = 12, .name = "python"});
//   const uint32_t track = builder.add_track({.process = process, .tid = 12});
//   builder.range(track, start_ns, end_ns, {.name = "step", .category = "", .values = values}, correlation);
//   builder.write(writer, base_ns);
//
// Events may come in any order. They are kept in memory until write(), in about 32 bytes each plus their values,
// because a track can be written only when it is sorted. Equal texts are kept once. Times are in nanoseconds and may be
// negative.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/model.h"
#include "trace/writer.h"

namespace kymo::import {

// Texts with a number each.
class Texts {
 public:
  uint32_t number_of(std::string_view text);
  std::string_view operator[](uint32_t number) const { return texts_[number]; }
  size_t size() const { return texts_.size(); }

 private:
  std::deque<std::string> texts_;
  std::unordered_map<std::string_view, uint32_t> numbers_;
};

struct ImportedFrame {
  std::string_view function, file;
  uint32_t line = 0;
};

// The stacks of all tracks. Equal frames and equal stacks are kept once.
class ImportedStacks {
 public:
  uint32_t number_of(uint32_t track, std::span<const ImportedFrame> frames);
  // Writes the stacks that these tracks use.
  void write(trace::Writer& writer, const trace::WriterId& id, std::span<const uint32_t> tracks) const;

 private:
  std::vector<trace::Frame> frames_;  // the id is the index plus 1
  std::vector<trace::Stack> stacks_;
  std::unordered_map<std::string, uint32_t> frame_ids_, stack_ids_;
  std::map<uint32_t, std::set<uint32_t>> used_;  // by track
  std::string key_;
};

// A named value of an event.
struct ImportedValue {
  std::string_view name;
  trace::FieldType type = trace::FieldType::Int;
  uint64_t bits = 0;
  double real = 0;
  std::string_view text;
};

struct ImportedEvent {
  std::string_view name, category;
  const std::vector<ImportedValue>* values = nullptr;
  uint32_t colour = 0;  // as in trace::EventClass
};

struct ImportedProcess {
  uint64_t pid = 0;
  std::string name;
  std::vector<std::pair<std::string, std::string>> metadata = {};
};

struct ImportedTrack {
  uint32_t process = 0;
  trace::TrackKind kind = trace::TrackKind::Thread;
  uint64_t tid = 0;
  std::string name = {};
  std::string device = {};
  uint64_t context = 0, queue = 0;
  std::optional<uint32_t> lane_of = {};  // its ranges belong to that track, on a lane of their own
  uint8_t lane = 0;
};

// An event of a track.
struct ImportedRecord {
  enum class Kind : uint8_t { Range, Begin, End, Point };
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  int64_t start = 0;
  int64_t end = 0;           // of a range, or kNever; of a point: the id
  uint64_t values : 56 = 0;  // where its values begin, in the track's bytes
  uint64_t point : 8 = 0;    // trace::PointKind; of a range: the first lane that it may be on
  uint32_t class_id = 0;
  Kind kind = Kind::Range;
  bool has_correlation = false;
};

struct TrackEvents {
  std::vector<ImportedRecord> records;
  std::string bytes;  // the values of all records
};

class TraceBuilder {
 public:
  uint32_t add_process(ImportedProcess process);
  uint32_t add_track(ImportedTrack track);
  ImportedProcess& process(uint32_t number) { return processes_[number]; }
  ImportedTrack& track(uint32_t number) { return tracks_[number]; }
  size_t process_count() const { return processes_.size(); }
  size_t track_count() const { return tracks_.size(); }
  bool has_events(uint32_t track) const { return !events_[track].records.empty(); }

  // `correlation` is a number of the process; 0: none.
  void range(uint32_t track, int64_t start, int64_t end, const ImportedEvent& event, uint64_t correlation = 0);
  // A range without an end.
  void open_range(uint32_t track, int64_t start, const ImportedEvent& event, uint64_t correlation = 0);
  // A range in two parts. The innermost open range of the track ends.
  void begin(uint32_t track, int64_t time, const ImportedEvent& event, uint64_t correlation = 0);
  void end(uint32_t track, int64_t time);
  void point(uint32_t track, int64_t time, trace::PointKind kind, uint64_t id, const ImportedEvent& event);

  // The number of a stack, for the samples and allocations of a track; 0: it has no frames. The innermost frame is
  // first.
  uint32_t stack(uint32_t track, std::span<const ImportedFrame> frames) { return stacks_.number_of(track, frames); }

  // Forgets the events since mark(), for a reader that finds out later that they are not valid.
  void mark();
  void rollback();

  // Something that is not in the trace: it appears in the ledger of losses.
  void lose(std::string detail, uint64_t count);

  uint64_t event_count() const { return event_count_; }
  uint64_t lost_count() const { return lost_count_; }

  // Writes everything, and frees the events. A time t is `realtime_base_ns` + t nanoseconds since 1970. `source` is
  // where the events come from, for `kymo info`.
  void write(trace::Writer& writer, int64_t realtime_base_ns, const std::string& source);

 private:
  uint32_t class_of(const ImportedEvent& event, bool& name_in_value);
  void merge_lanes();
  void append_values(std::string& to, const ImportedEvent& event, bool name_in_value, uint64_t correlation);
  ImportedRecord& append(uint32_t track, const ImportedEvent& event, uint64_t correlation);
  void write_process(trace::Writer& writer, uint32_t process, int64_t realtime_base_ns, int64_t shift,
                     const std::string& source);

  std::deque<ImportedProcess> processes_;
  std::deque<ImportedTrack> tracks_;
  std::deque<TrackEvents> events_;  // by track
  Texts texts_;
  std::deque<trace::EventClass> classes_;  // the id is the index plus 1
  std::unordered_map<std::string, uint32_t> class_ids_;
  std::string key_;
  ImportedStacks stacks_;
  std::map<std::string, uint64_t> losses_;
  uint64_t event_count_ = 0, lost_count_ = 0;
  struct Mark {
    size_t records = 0, bytes = 0;
  };
  std::vector<Mark> marks_;  // by track
  uint64_t marked_count_ = 0;
};

}  // namespace kymo::import
