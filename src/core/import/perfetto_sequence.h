// The state of a packet sequence of a Perfetto trace: the texts that it has defined, and what its packets leave out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace kymo::import {

class PerfettoSequence {
 public:
  struct SourceLocation {
    std::string file, function;
    uint64_t line = 0;
  };
  // The code of a sample: a frame, and the path of its file as the parts of it.
  struct CodeFrame {
    uint64_t function = 0, mapping = 0, offset = 0;
  };
  using Numbers = std::vector<uint64_t>;
  using Texts = std::unordered_map<uint64_t, std::string>;

  // The state that packets build on is valid: it was cleared, and no packet was lost since.
  bool is_valid() const { return valid_; }
  void clear();
  void packet_was_lost() { valid_ = false; }

  // Messages of the trace. Both throw protozero::exception.
  void define(std::string_view interned_data);
  void set_defaults(std::string_view packet_defaults);

  static const std::string* find(const Texts& texts, uint64_t iid);
  Texts names, categories, annotation_names, strings, function_names, mapping_paths;
  std::unordered_map<uint64_t, CodeFrame> frames;
  std::unordered_map<uint64_t, Numbers> mappings, callstacks;
  std::unordered_map<uint64_t, SourceLocation> source_locations;

  uint64_t sample_period_ns = 0;                                // that a CPU sample stands for; 0: not known
  uint32_t default_clock = 0;                                   // 0: none
  uint64_t default_track = 0;                                   // 0: none
  std::vector<uint64_t> extra_counters, extra_double_counters;  // the tracks of these values of an event
  std::unordered_map<uint64_t, int64_t> counter_sums;           // by track, of counters that state differences

 private:
  bool valid_ = false;
};

}  // namespace kymo::import
