#include "convert/recording_parts.h"

#include <algorithm>
#include <cstdint>

#include "base/text.h"

namespace kymo::convert {

std::map<trace::WriterId, std::string> recording_parts(const trace::Reader& reader) {
  struct Times {
    uint64_t first = UINT64_MAX, last = 0, events = 0;
  };
  std::map<trace::WriterId, Times> times;
  for (const trace::EventChunk& chunk : reader.event_chunks()) {
    Times& its = times[chunk.writer];
    its.first = std::min(its.first, chunk.first);
    its.last = std::max(its.last, chunk.last);
    its.events += uint64_t{chunk.range_count} + chunk.point_count;
  }
  std::map<trace::WriterId, std::string> parts;
  for (const auto& [id, its] : times) {
    const trace::Origin& origin = reader.writers().at(id).origin;
    const auto known = std::ranges::find(origin.metadata, kRecordingParts, &std::pair<std::string, std::string>::first);
    parts[id] = known != origin.metadata.end()
                    ? known->second
                    : base::format("{} {} {} {}", origin.start_realtime_ns, its.first, its.last, its.events);
  }
  return parts;
}

}  // namespace kymo::convert
