// One TrackEvent of a Perfetto trace, with the texts that its sequence defines.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "import/builder/trace_builder.h"

namespace kymo::import {

// The state of a packet sequence of a Perfetto trace: the texts that it has defined, and what its packets leave out.
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

// The debug annotations of a Perfetto event as values. Dictionaries and lists become JSON text.
class PerfettoArgs {
 public:
  void clear();
  // Adds one DebugAnnotation. Throws protozero::exception. The message and the sequence must stay valid.
  void add(std::string_view annotation, const PerfettoSequence& sequence);
  void add(std::string_view name, std::string_view text);
  void add(std::string_view name, uint64_t number);

  std::vector<ImportedValue> values;  // views into the message, the sequence and this object

 private:
  std::deque<std::string> texts_;
};

struct PerfettoEvent {
  uint64_t type = 0;
  std::string_view name;
  std::string category;  // several are separated by commas
  std::optional<uint64_t> track;
  PerfettoArgs args;
  std::optional<int64_t> counter_value;
  std::optional<double> double_counter_value;
  std::vector<uint64_t> extra_tracks, extra_double_tracks;
  std::vector<int64_t> extra_values;
  std::vector<double> extra_doubles;
  std::vector<uint64_t> flows, terminating_flows;
  uint64_t correlation = 0;
  bool has_unknown_name = false;  // a number that its sequence does not define
};

// Replaces the content of `event`, which has views into the message and the sequence. Throws protozero::exception.
void read_event(std::string_view message, const PerfettoSequence& sequence, PerfettoEvent& event);

}  // namespace kymo::import
