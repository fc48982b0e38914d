// The text of a trace request to libkineto: lines of `KEY = value`; `#` starts a comment.
//
// libkineto stops at the first line that it cannot read, and uses what it has until then. Here every line is read, and
// a text with an error makes no request: all errors are reported, line by line. An unknown key is only a warning, as in
// libkineto, because versions differ.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace kymo::wire {

inline constexpr size_t kConfigLargest = size_t{64} * 1024;
inline constexpr size_t kConfigMaxNotes = 64;
// A start time that is further in the past than this is refused.
inline constexpr uint64_t kConfigOldestStartMs = 10'000;

// The settings of a config that Kymo uses, with libkineto's defaults.
struct TraceRequest {
  std::string output;  // empty: /tmp/libkineto_activities_PID.json, or /tmp/memory_snapshot_PID.pickle
  bool enabled = true;

  // When to record, by time. `start_ms` is Unix time; 0: now.
  uint64_t start_ms = 0;
  uint64_t duration_ms = 500;
  uint64_t warmup_s = 5;
  // When to record, by iterations of the program. If a start is given, this has priority over time.
  std::optional<uint64_t> start_iteration;
  std::optional<uint64_t> iteration_roundup;  // start at the next multiple of it
  uint64_t iterations = 0;

  // What to record.
  bool shapes = false;
  bool memory_events = false;
  bool stack = false;
  bool flops = false;
  bool modules = false;

  // A snapshot of memory instead of a trace.
  bool memory_snapshot = false;
  uint64_t memory_duration_ms = 1000;

  std::string trace_id;  // both are copied into the trace
  std::string group_trace_id;

  uint64_t poll_interval_s = 5;  // only in the base config

  bool by_iterations() const { return start_iteration.has_value(); }
  bool operator==(const TraceRequest&) const = default;
};

// ---- The keys of a config: the name of each, the member of TraceRequest that it sets, and its allowed values

template <class T>
using RequestMember = T TraceRequest::*;

struct ConfigKey {
  std::string_view name;
  std::variant<RequestMember<bool>, RequestMember<uint64_t>, RequestMember<std::optional<uint64_t>>,
               RequestMember<std::string>>
      member;
  uint64_t most = INT32_MAX;  // max of a number
  uint64_t scale = 1;         // factor for a number
  bool is_alias = false;      // another name for an earlier key: read, but never written
};

// In the order of writing.
std::span<const ConfigKey> config_keys();

// ---- Reading and writing

struct ConfigNote {
  size_t line = 0;  // from 1; 0: the whole text
  std::string text;
  bool operator==(const ConfigNote&) const = default;
};

struct ConfigReading {
  std::optional<TraceRequest> request;  // only if there are no errors
  std::vector<ConfigNote> errors;       // max kConfigMaxNotes of each; the last one says if there were more
  std::vector<ConfigNote> warnings;

  // The errors in one line: "line 3: …; line 7: …".
  std::string reason() const;
};

ConfigReading read_config(std::string_view untrusted);

// A text that gives the same request when read: one line for each value that is not the default. Refuses what a config
// cannot express, such as a path with a `#` or a `=`.
base::Result<std::string> config_text(const TraceRequest& request);

// Whether this can still start.
base::Check check_start(const TraceRequest& request, uint64_t now_ms);

// The file that process `pid` writes. For a trace, the pid is put before the first `.pt.trace.json`, otherwise before
// the first `.json`; otherwise it is omitted, and all processes write the same file. For a snapshot, the path is
// unchanged.
std::string output_path(const TraceRequest& request, int64_t pid);
std::string path_with_pid(std::string_view path, int64_t pid);

}  // namespace kymo::wire
