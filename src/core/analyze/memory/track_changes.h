// The memory changes of one track, one chunk at a time, with the open ranges and the stacks of each.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyze/memory/changes.h"
#include "analyze/memory/point_fields.h"
#include "base/seeded_hash.h"
#include "convert/chunk_order.h"
#include "convert/classes.h"
#include "convert/value_rows.h"
#include "trace/clock.h"
#include "trace/reader.h"

namespace kymo::memory {

// What the tracks of one process share.
class ProcessTables {
 public:
  ProcessTables(const trace::WriterInfo& writer, uint32_t number, std::string device, Tables& tables);

  convert::Classes& classes() { return classes_; }
  const PointFields& fields_of(const convert::ClassInfo& info);
  std::optional<uint32_t> memory_named(std::string device);  // nothing if it is not selected
  uint32_t range_named(std::string_view name);

  const trace::WriterInfo& writer;
  const uint32_t number;
  Tables& tables;

 private:
  uint32_t next_class_ = 0;
  convert::Classes classes_;
  std::vector<std::optional<PointFields>> fields_;  // by ClassInfo::index
  std::string device_;
  std::map<std::string, uint32_t> memories_;
  std::unordered_map<std::string, uint32_t> ranges_;
};

class TrackChanges {
 public:
  TrackChanges(ProcessTables& process, const trace::ClockMap& clock, uint32_t thread, uint32_t& next_outermost)
      : process_(process), clock_(clock), thread_(thread), next_outermost_(next_outermost) {}

  // Reads a chunk, whose first point has this number. Chunks must come in order. `into` is replaced. Throws kymo::Error
  // if the chunk is damaged.
  void read(const trace::Reader& reader, const trace::EventChunk& chunk, uint64_t first_point,
            std::vector<MemoryChange>& into);

 private:
  struct Open {
    uint64_t start;
    uint32_t range;
    StackId stack;  // at its start, if the trace has it
  };

  void begin(uint64_t start, uint32_t range);
  void take_point(uint32_t index, std::vector<MemoryChange>& into);
  uint32_t range_of(uint32_t class_id, std::span<const Value> row);
  uint32_t range_of(const trace::OpenRange& open);
  void add_node(const PointFields& fields, std::span<const Value> row);
  StackId stack_at(uint64_t node);

  ProcessTables& process_;
  const trace::ClockMap& clock_;
  const uint32_t thread_;
  uint32_t& next_outermost_;
  uint64_t outermost_start_ = 0;
  uint32_t outermost_ = 0;
  int64_t last_ns_ = INT64_MIN;
  uint64_t seen_nodes_ = 0;
  std::vector<StackId> nodes_;  // by the track's own numbers
  std::unordered_map<uint64_t, StackId, base::SeededHash> far_nodes_;

  uint64_t first_point_ = 1;
  trace::EventBatch batch_;
  convert::ChunkOrder order_;
  convert::ValueRows range_rows_, point_rows_;
  std::vector<Open> open_;
};

}  // namespace kymo::memory
