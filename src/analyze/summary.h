// What a trace is, without reading its events: the catalog and the chunk headers tell everything here.
//
// Costs milliseconds for a file of any size.
#pragma once

#include <cstdint>
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
  std::string device_uuid;  // of a device's queue, as is what follows
  uint64_t context = 0, queue = 0;
  uint32_t clock = 0;
  uint64_t ranges = 0, points = 0;
  uint64_t bytes = 0;  // of its chunks
  uint64_t chunks = 0;
  int64_t first_realtime_ns = 0;  // of its events; both 0 where it has none or its clock cannot be converted
  int64_t last_realtime_ns = 0;
  // What recording cost this thread, or those who recorded on this queue, as it was measured, and its share of the
  // thread's own span.
  uint64_t cost_ns = 0;
  uint64_t blocked_ns = 0;  // waiting for the collector; not part of cost_ns
  std::vector<std::string>
      open;  // the ranges that had not ended where the trace does, outermost first; the innermost 20
  uint64_t open_count = 0;
  double distortion = 0;  // (cost + blocked) / span; 0 where there is no span, and for a queue, which is not slowed

  uint64_t events() const { return ranges + points; }
};

struct ClockSummary {
  uint32_t id = 0;
  trace::ClockKind kind = trace::ClockKind::Monotonic;
  size_t pairs = 0;
  uint64_t error_ns = 0;  // half the width within which a converted time lies
  bool usable = false;
};

struct LossSummary {
  trace::LossCause cause = trace::LossCause::RingFull;
  std::string_view text;  // the cause in words
  uint64_t pid = 0;
  std::string track;  // its name; empty: not of one track
  trace::TrackKind track_kind = trace::TrackKind::Thread;
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
  uint64_t collector_cpu_ns = 0;         // beside the program
};

// What a trace should hold and does not: a recording that was not completed.
struct MissingEnd {
  uint64_t pid = 0;        // 0: of the recording itself
  std::string executable;  // of that process
};

struct Summary {
  std::string path;
  uint64_t file_size = 0;
  uint64_t torn_bytes = 0;  // at the end of the file, in no whole chunk
  bool indexed = false;     // could be opened by its index alone
  int64_t begin_realtime_ns = 0;
  uint64_t duration_ns = 0;  // from the first event to the last
  uint64_t ranges = 0, points = 0;
  uint64_t chunks = 0;
  double bytes_per_event = 0;
  std::vector<ProcessSummary> processes;  // by start
  std::vector<LossSummary> losses;        // most first
  uint64_t lost = 0;                      // all of them
  std::vector<trace::Problem> problems;
  std::vector<MissingEnd> missing;  // none while it is being written

  uint64_t events() const { return ranges + points; }
};

Summary summarise(const trace::Reader& reader);

// Why something was lost, as a person would say it: "the ring was full".
std::string_view cause_text(trace::LossCause);

std::string_view clock_kind_text(trace::ClockKind);

}  // namespace kymo::analyze
