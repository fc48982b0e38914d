// The event classes of a result in a Kymo trace: one for each combination of name, kind of event, and set of known
// values. The fields are those arguments of the Chrome file that a trace does not already contain.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "edge/input_texts.h"
#include "edge/result_data.h"
#include "trace/model.h"

namespace kymo::edge {

// Also the classes of points.
struct PointClasses {
  uint32_t memory = 1;         // of Allocation and Free: bytes, totals, device
  uint32_t out_of_memory = 2;  // of Instant
  uint32_t stack = 3;          // of Sample
  uint32_t window_end = 4;     // of Instant
};

class TraceClasses {
 public:
  explicit TraceClasses(const ResultData& result);

  static constexpr PointClasses kPoints{};

  // Creates the class if it is the first of its kind.
  uint32_t of(const EdgeEvent& event);
  // The values for the event's class, in the order of its fields.
  void append_values(const EdgeEvent& event, trace::Values& to);
  // For kPoints.memory and kPoints.out_of_memory.
  void append_values(const EdgeAllocation& allocation, trace::Values& to) const;

  // The class of a Counter: the memory of a device that is in use. One value, in bytes.
  uint32_t memory_counter(const DeviceId& device);

  // The classes that were created since the last call, for the file.
  std::vector<trace::EventClass> take_new();

 private:
  struct Key {
    const char* name;
    size_t size;
    uint32_t kind_and_known;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const {
      return (reinterpret_cast<uintptr_t>(key.name) ^ (key.size << 32 ^ key.kind_and_known)) * 0x9E3779B97F4A7C15u >>
             16;
    }
  };
  uint32_t known_about(const EdgeEvent& event) const;
  std::vector<trace::Field> fields_of(uint32_t known) const;

  const ResultData& result_;
  InputTextCache inputs_;
  std::unordered_map<Key, uint32_t, Hash> ids_;
  std::map<std::pair<int32_t, int32_t>, uint32_t> memory_counters_;  // by type and index
  std::vector<trace::EventClass> new_;
  uint32_t next_id_ = 5;  // after kPoints
};

}  // namespace kymo::edge
