#include "trace/last_alive.h"

#include <algorithm>

#include "base/clock.h"
#include "trace/window_view.h"

namespace kymo::trace {

std::map<WriterId, int64_t> last_alive_ns(const Reader& reader) {
  constexpr uint32_t kHostClock = 1;  // of every writer: docs/format.md
  std::map<WriterId, TrackClocks> clocks;
  std::map<WriterId, int64_t> ends;
  for (const EventChunk& chunk : reader.event_chunks()) {
    const auto writer = reader.writers().find(chunk.writer);
    if (writer == reader.writers().end()) continue;
    const ClockMap* const clock = clocks.try_emplace(chunk.writer, writer->second).first->second.find(chunk.track);
    if (clock == nullptr) continue;
    const int64_t last = clock->to_monotonic_ns(chunk.last);
    int64_t& end = ends.try_emplace(chunk.writer, last).first->second;
    end = std::max(end, last);
  }
  for (auto& [id, end] : ends) {
    const WriterInfo& writer = reader.writers().at(id);
    if (!writer.ending && reader.is_being_written()) end = std::max(end, static_cast<int64_t>(base::monotonic_ns()));
    const auto host = writer.clocks.find(kHostClock);
    if (!writer.ending || host == writer.clocks.end()) continue;
    if (const ClockMap clock = clock_map(host->second); clock.usable())
      end = std::max(end, clock.to_monotonic_ns(writer.ending->alive_until));
  }
  return ends;
}

}  // namespace kymo::trace
