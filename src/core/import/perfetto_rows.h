// The tracks of a Perfetto trace: found by their uuids, named by their descriptions, which may come later.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "import/trace_builder.h"

namespace kymo::import {

class PerfettoRows {
 public:
  // A track of counter values.
  struct Counter {
    std::string name, category;
    bool counts_bytes = false, is_incremental = false;
    int64_t multiplier = 1;
  };

  explicit PerfettoRows(TraceBuilder& builder) : builder_(builder) {}

  // Reads a TrackDescriptor. Throws protozero::exception.
  void describe(std::string_view descriptor);

  uint32_t track(uint64_t uuid);
  // The track of a thread that an event names by its numbers.
  uint64_t thread(uint64_t pid, uint64_t tid);
  // Of the process that a track is in.
  std::optional<uint64_t> pid_of(uint64_t uuid) const;
  const Counter* counter(uint64_t uuid) const;  // null: it is not a counter's track
  // Where a counter's values go: the track of the thread that counts, if they are of one process.
  uint32_t counter_track(uint64_t uuid, uint64_t thread);
  // Removes the device and the queue from the end of the values of an event that Kymo exported: the track says them.
  void drop_queue(uint64_t uuid, std::vector<ImportedValue>& values) const;

  // Puts all tracks into their processes.
  void finish();

  uint64_t left_out() const { return left_out_; }  // descriptions

 private:
  struct Process {
    uint64_t pid = 0;
    std::string name, command_line;
  };
  struct Thread {
    uint64_t pid = 0, tid = 0;
    std::string name;
  };
  struct Queue {  // of a trace that Kymo exported
    uint64_t queue = 0, context = 0, pid = 0;
    std::string device, name;
  };
  struct Description {
    uint64_t parent = 0;
    std::string name;
    std::optional<Process> process;
    std::optional<Thread> thread;
    std::optional<Counter> counter;
    std::optional<Queue> queue;
  };

  const Description* find(uint64_t uuid) const;
  const Description* parent_of(const Description& description) const { return find(description.parent); }
  uint32_t process(uint64_t pid);
  uint64_t lane_of(const Description& description) const;  // 0: it is not a lane
  std::string name_of(const Description& description) const;

  TraceBuilder& builder_;
  std::unordered_map<uint64_t, Description> descriptions_;
  std::unordered_map<uint64_t, uint32_t> tracks_;              // by uuid
  std::map<uint64_t, uint32_t> processes_;                     // by pid
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> threads_;  // uuids, by pid and tid
  uint64_t next_uuid_ = UINT64_MAX;
  uint64_t left_out_ = 0;
};

}  // namespace kymo::import
