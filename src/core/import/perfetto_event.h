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

// Chrome's JSON event in a Perfetto trace.
struct LegacyEvent {
  char phase = 0;
  int64_t duration_us = 0;
  std::optional<uint64_t> id;
  enum class Scope : uint8_t { Unscoped, Local, Global } scope = Scope::Unscoped;
  std::string_view scope_name;
  std::optional<int32_t> pid, tid;  // of another thread than the track's
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
  std::optional<LegacyEvent> legacy;
  bool has_unknown_name = false;  // a number that its sequence does not define
};

// Replaces the content of `event`, which has views into the message and the sequence. Throws protozero::exception.
void read_event(std::string_view message, const PerfettoSequence& sequence, PerfettoEvent& event);

}  // namespace kymo::import
