// Builds a Kymo trace from events that come in any order: those of another format, or of the edge profiler.
//
//   TraceBuilder builder;
//   const uint32_t process = builder.add_process({.pid = 12, .name = "python"});
//   const uint32_t track = builder.add_track({.process = process, .tid = 12});
//   builder.range(track, start_ns, end_ns, {.name = "step", .category = "", .values = values}, correlation);
//   builder.write(writer, base_ns);
//
// Events may come in any order. They are kept in memory until write(), in 32 bytes each plus their values, because a
// track can be written only when it is sorted. Equal texts are kept once. Times are in nanoseconds and may be negative.
//
// Not thread-safe. A reader with several threads fills blocks of events with tables of its own and adds them with
// append() (event_tables.h).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "import/builder/event_tables.h"
#include "trace/model.h"
#include "trace/writer.h"

namespace kymo::import {

struct ImportedFrame {
  std::string_view function, file;
  uint32_t line = 0;
  std::string_view module = {};  // the path of the file with the code
};

// The stacks of all tracks. Equal frames and equal stacks are kept once.
class ImportedStacks {
 public:
  uint32_t number_of(uint32_t track, std::span<const ImportedFrame> frames);
  // Writes the stacks that these tracks use.
  void write(trace::Writer& writer, const trace::WriterId& id, std::span<const uint32_t> tracks) const;

 private:
  uint32_t module(std::string_view path);

  std::vector<trace::Module> modules_;  // the id is the index plus 1, also of the others
  std::vector<trace::Frame> frames_;
  std::vector<trace::Stack> stacks_;
  std::unordered_map<std::string, uint32_t> module_ids_, frame_ids_, stack_ids_;
  std::map<uint32_t, std::set<uint32_t>> used_;  // by track
  std::string key_;
};

struct ImportedProcess {
  uint64_t pid = 0;
  std::string name;
  std::string host = {};  // empty: the file does not say it
  std::vector<std::pair<std::string, std::string>> metadata = {};
  std::optional<int64_t> alive_until = {};  // if it was seen alive after its last event
  // Only of a process that writes its own events.
  uint64_t parent_pid = 0;
  std::string boot_id = {};
  std::vector<std::string> command_line = {};
  std::optional<base::ClockPair> clock = {};  // its ticks are a time, as those of events are
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

class TraceBuilder {
 public:
  uint32_t add_process(ImportedProcess process);
  uint32_t add_track(ImportedTrack track);
  ImportedProcess& process(uint32_t number) { return processes_[number]; }
  ImportedTrack& track(uint32_t number) { return tracks_[number]; }
  size_t process_count() const { return processes_.size(); }
  size_t track_count() const { return tracks_.size(); }

  // The same as in EventBlock.
  void range(uint32_t track, int64_t start, int64_t end, const ImportedEvent& event, uint64_t correlation = 0) {
    last_block(track).range(tables_[0], start, end, event, correlation);
  }
  void open_range(uint32_t track, int64_t start, const ImportedEvent& event, uint64_t correlation = 0) {
    last_block(track).open_range(tables_[0], start, event, correlation);
  }
  void begin(uint32_t track, int64_t time, const ImportedEvent& event, uint64_t correlation = 0) {
    last_block(track).begin(tables_[0], time, event, correlation);
  }
  void end(uint32_t track, int64_t time) { last_block(track).end(time); }
  void point(uint32_t track, int64_t time, trace::PointKind kind, uint64_t id, const ImportedEvent& event) {
    last_block(track).point(tables_[0], time, kind, id, event);
  }

  // Tables for the blocks of another thread.
  EventTables& add_tables() { return tables_.emplace_back(); }
  // Adds a block after the events that the track has.
  void append(uint32_t track, EventBlock block) { events_[track].push_back(std::move(block)); }

  // The number of a stack, for the samples and allocations of a track; 0: it has no frames. The innermost frame is
  // first.
  uint32_t stack(uint32_t track, std::span<const ImportedFrame> frames) { return stacks_.number_of(track, frames); }

  static constexpr const char* kReversed = "ends of ranges that are before their starts; the ranges are empty";
  // Something that is not in the trace: it appears in the ledger of losses.
  void lose(std::string detail, uint64_t count) { lose(trace::LossCause::NotImported, std::move(detail), count); }
  // The same for what cannot be read because the file was cut off or is damaged.
  void lose_damaged(std::string detail) { lose(trace::LossCause::SourceDamaged, std::move(detail), 1); }
  void lose(trace::LossCause cause, std::string detail, uint64_t count);

  // After write().
  uint64_t event_count() const { return event_count_; }
  uint64_t lost_count() const { return lost_count_; }

  // Writes everything, and frees the events. A time t is `realtime_base_ns` + t nanoseconds since 1970. `source` is
  // where the events come from, for `kymo info`; empty: from this program. Uses another thread to compress a large
  // trace.
  void write(trace::Writer& writer, int64_t realtime_base_ns, const std::string& source);

 private:
  struct Output;
  EventBlock& last_block(uint32_t track);
  void merge_lanes();
  void number_async_ranges(const std::vector<uint32_t>& tracks);
  int64_t count_events();
  void write_process(Output& output, uint32_t number, const std::vector<uint32_t>& own, const std::string& source);

  std::deque<ImportedProcess> processes_;
  std::deque<ImportedTrack> tracks_;
  std::deque<std::vector<EventBlock>> events_;  // by track
  std::deque<EventTables> tables_ = std::deque<EventTables>(1);
  ImportedStacks stacks_;
  std::map<std::pair<trace::LossCause, std::string>, uint64_t> losses_;
  uint64_t event_count_ = 0, lost_count_ = 0;
};

}  // namespace kymo::import
