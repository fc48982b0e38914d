// One packet of a Perfetto trace: what Kymo reads of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "import/perfetto_packets.h"

namespace kymo::import {

struct PerfettoPacket {
  std::optional<uint64_t> time;
  uint32_t sequence = 0, clock = 0;
  uint64_t flags = 0;
  bool previous_dropped = false;
  std::string_view event, sample, interned, defaults, snapshot, descriptor, compressed;
  Inflated::Codec codec = Inflated::Codec::Zlib;
  bool has_event = false;  // of a track, or a CPU sample
  uint32_t other = 0;      // the field of content that is not imported
};

// It has views into `bytes`. Throws protozero::exception.
PerfettoPacket read_packet(std::string_view bytes);

}  // namespace kymo::import
