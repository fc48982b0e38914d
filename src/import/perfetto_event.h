// One TrackEvent of a Perfetto trace, with the texts that its sequence defines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "import/perfetto_args.h"
#include "import/perfetto_sequence.h"

namespace kymo::import {

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
  bool is_legacy = false;
  bool has_unknown_name = false;  // a number that its sequence does not define
};

// Replaces the content of `event`, which has views into the message and the sequence. Throws protozero::exception.
void read_event(std::string_view message, const PerfettoSequence& sequence, PerfettoEvent& event);

}  // namespace kymo::import
