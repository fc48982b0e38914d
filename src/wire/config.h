// The text by which libkineto is asked for a trace: lines `KEY = value`, `#` begins a comment.
//
// libkineto stops at the first line that it cannot read and goes on with what it has. Here every line is read, and a
// text with an error in it makes no request at all: what is wrong is said, line by line. A key that is not known is
// only warned of, as libkineto does, because versions differ.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wire/result.h"

namespace kymo::wire {

inline constexpr size_t kConfigLargest = 64 * 1024;
inline constexpr size_t kConfigMostNotes = 64;
// A start that lies further back than this is refused.
inline constexpr uint64_t kConfigOldestStartMs = 10'000;

// Everything a config may say, with libkineto's defaults. The key of each is in config.cc.
struct TraceRequest {
  std::string output;  // empty: /tmp/libkineto_activities_PID.json, or /tmp/memory_snapshot_PID.pickle
  bool enabled = true;

  // When, by time. `start_ms` is Unix time; 0: now.
  uint64_t start_ms = 0;
  uint64_t duration_ms = 500;
  uint64_t warmup_s = 5;
  // When, by iterations of the program; wins over time where there is a start.
  std::optional<uint64_t> start_iteration;
  std::optional<uint64_t> iteration_roundup;  // start at the next multiple of it
  uint64_t iterations = 0;
  uint64_t warmup_iterations = 0;

  // What.
  std::vector<std::string> activity_types;  // empty: the usual ones
  bool shapes = false;
  bool memory_events = false;
  bool stack = false;
  bool flops = false;
  bool modules = false;
  bool sync_wait_events = true;

  // A snapshot of memory instead of a trace.
  bool memory_snapshot = false;
  uint64_t memory_duration_ms = 1000;

  std::string trace_id;  // both are passed on into the trace
  std::string group_trace_id;

  // For one backend or another.
  uint64_t gpu_buffer_mb = 128;
  bool cupti_per_thread_buffers = false;
  std::vector<std::string> cupti_pm_metrics;
  uint64_t cupti_pm_device = 0;
  uint64_t roctracer_events = 5'000'000;
  std::string custom;

  // Of the base config, a file that is read again every few minutes.
  bool use_daemon = false;
  uint64_t poll_interval_s = 5;
  std::optional<uint64_t> verbose_level;
  std::vector<std::string> verbose_modules;

  bool by_iterations() const { return start_iteration.has_value(); }
  bool operator==(const TraceRequest&) const = default;
};

struct ConfigNote {
  size_t line = 0;  // from 1; 0: the text as a whole
  std::string text;
  bool operator==(const ConfigNote&) const = default;
};

struct ConfigReading {
  std::optional<TraceRequest> request;  // only where nothing was wrong
  std::vector<ConfigNote> errors;       // at most kConfigMostNotes of each; the last one says if there were more
  std::vector<ConfigNote> warnings;

  // The errors in one line: "line 3: …; line 7: …".
  std::string reason() const;
};

ConfigReading read_config(std::string_view untrusted);

// A text that reads back as the same request: what differs from the defaults, a line each. Refused: what a config has
// no way to say, such as a path with a `#` or a `=`.
Result<std::string> config_text(const TraceRequest& request);

// Why this cannot start any more; empty where it can.
std::string start_problem(const TraceRequest& request, uint64_t now_ms);

// The file that process `pid` writes. A trace's has the pid before the first `.pt.trace.json`, or else before the first
// `.json`, or else nowhere, and all processes write the same; a snapshot's is as it was given.
std::string output_path(const TraceRequest& request, int64_t pid);
std::string path_with_pid(std::string_view path, int64_t pid);

}  // namespace kymo::wire
