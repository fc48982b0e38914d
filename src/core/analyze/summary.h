// A summary of a trace without reading its events: only the catalog and the chunk headers are read.
//
// Takes milliseconds for a file of any size. If the trace states a window, what crosses its edges was read when the
// file was opened.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/reader.h"

namespace kymo::analyze {

struct TrackSummary {
  uint32_t id = 0;
  trace::TrackKind kind = trace::TrackKind::Thread;
  uint64_t tid = 0;
  std::string name;
  std::string device_uuid;  // device_uuid, device_name, context and queue: only for a queue of a device
  std::string device_name;  // empty: not known
  uint64_t context = 0, queue = 0;
  uint32_t clock = 0;
  uint64_t ranges = 0, points = 0;
  uint64_t bytes = 0;  // of its chunks
  uint64_t chunks = 0;
  int64_t first_realtime_ns = 0;  // of its events; both 0 if it has none or its clock cannot be converted
  int64_t last_realtime_ns = 0;
  // The measured cost of recording for this thread, or for the threads that recorded on this queue.
  uint64_t cost_ns = 0;
  uint64_t blocked_ns = 0;  // waiting for the collector; not in cost_ns
  // The ranges that are open at the end of the trace, outermost first; only the innermost 20.
  std::vector<std::string> open;
  uint64_t open_count = 0;
  double distortion = 0;  // (cost + blocked) / span; 0 if there is no span, and for a queue, which is not slowed down

  uint64_t events() const { return ranges + points; }
};

struct ClockSummary {
  uint32_t id = 0;
  trace::ClockKind kind = trace::ClockKind::Monotonic;
  size_t pairs = 0;
  uint64_t error_ns = 0;  // a converted time is correct within ± this
  bool usable = false;
};

struct LossSummary {
  trace::LossCause cause = trace::LossCause::RingFull;
  uint64_t pid = 0;
  std::string track;  // its name; empty: not about one track
  trace::TrackKind track_kind = trace::TrackKind::Thread;
  uint64_t tracks = 1;  // number of tracks, in a group (losses.h)
  uint64_t count = 0;
  int64_t first_realtime_ns = 0, last_realtime_ns = 0;  // 0: unknown
  std::string detail;
};

struct ProcessSummary {
  trace::WriterId writer;
  trace::Origin origin;  // pid, host, command line, start, policy, version, metadata
  std::vector<TrackSummary> tracks;
  std::vector<ClockSummary> clocks;
  uint64_t ranges = 0, points = 0;
  uint64_t cost_ns = 0, blocked_ns = 0;  // of all its threads
  uint64_t collector_cpu_ns = 0;         // outside the program's threads
  std::optional<trace::Window> window;   // what it recorded outside of it is not counted
};

// A recording that was not completed: its end is missing in the trace.
struct MissingEnd {
  uint64_t pid = 0;         // 0: the recording itself
  std::string executable;   // of that process
  std::string unrecovered;  // why the end could not be added, although it is in shared memory; empty: it is not there
};

struct Summary {
  std::string path;
  uint64_t file_size = 0;
  uint64_t torn_bytes = 0;  // at the end of the file, not part of a complete chunk
  bool indexed = false;     // opened by its index only
  int64_t begin_realtime_ns = 0;
  uint64_t duration_ns = 0;  // from the first event to the last
  uint64_t ranges = 0, points = 0;
  uint64_t chunks = 0;
  double bytes_per_event = 0;
  std::vector<ProcessSummary> processes;  // sorted by start
  std::vector<LossSummary> losses;        // one for each cause, process, track and detail; largest first
  uint64_t lost = 0;                      // the sum of all
  std::vector<trace::Problem> problems;
  std::vector<MissingEnd> missing;  // empty while it is being written

  uint64_t events() const { return ranges + points; }
};

Summary summarise(const trace::Reader& reader);

// Everything that cannot be read: the problems of the reader, and damaged chunks of events. Reads the whole file.
std::vector<trace::Problem> all_problems(const trace::Reader& reader);

std::string_view clock_kind_text(trace::ClockKind);

}  // namespace kymo::analyze
