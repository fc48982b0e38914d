#include "trace/untimed.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/text.h"
#include "trace/window_view.h"

namespace kymo::trace {
namespace {

// What is missing to place the events of a track.
const char* missing_for(const WriterInfo& writer, uint32_t track) {
  const auto described = writer.tracks.find(track);
  if (described == writer.tracks.end()) return "the description of the thread or queue";
  const auto clock = writer.clocks.find(described->second.clock);
  if (clock == writer.clocks.end()) return "the clock";
  return clock->second.pairs.empty() ? "a reading of the clock" : "a second reading of the clock";
}

struct Untimed {
  uint64_t events = 0, offset = 0, end = 0;
};

}  // namespace

std::vector<Problem> untimed_events(const std::map<WriterId, WriterInfo>& writers,
                                    const std::vector<EventChunk>& chunks) {
  std::map<WriterId, TrackClocks> clocks;
  for (const auto& [id, writer] : writers) clocks.emplace(id, TrackClocks(writer));
  std::map<std::pair<WriterId, std::string>, Untimed> found;
  for (const EventChunk& chunk : chunks) {
    const uint64_t events = uint64_t{chunk.range_count} + chunk.point_count;
    if (events == 0 || clocks.at(chunk.writer).find(chunk.track) != nullptr) continue;
    Untimed& sum = found[{chunk.writer, missing_for(writers.at(chunk.writer), chunk.track)}];
    if (sum.events == 0) sum.offset = chunk.offset;
    sum.events += events;
    sum.end = chunk.offset + chunk.length;
  }
  std::vector<Problem> problems;
  for (const auto& [key, sum] : found) {
    problems.push_back({sum.offset, sum.end - sum.offset,
                        base::format("{} event{} of process {} without a time: {} is missing in the trace", sum.events,
                                     sum.events == 1 ? "" : "s", writers.at(key.first).origin.pid, key.second)});
  }
  std::sort(problems.begin(), problems.end(), [](const auto& a, const auto& b) { return a.offset < b.offset; });
  return problems;
}

}  // namespace kymo::trace
