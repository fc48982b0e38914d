#include "trace/clock.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/text.h"
#include "trace/writer.h"

namespace kymo::trace {

const ClockMap* TrackClocks::find(uint32_t track) {
  const auto described = writer_->tracks.find(track);
  if (described == writer_->tracks.end()) return nullptr;
  const auto domain = writer_->clocks.find(described->second.clock);
  if (domain == writer_->clocks.end()) return nullptr;
  const auto [clock, is_new] = clocks_.try_emplace(domain->first, clock_map(domain->second));
  return clock->second.usable() ? &clock->second : nullptr;
}

std::map<WriterId, int64_t> last_alive_ns(const Reader& reader) {
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

namespace {

constexpr std::string_view kReference = "clock.reference", kOffset = "clock.offset_ns", kError = "clock.error_ns";
constexpr std::string_view kAlignmentError = "clock.alignment_error_ns";

template <class Number>
bool read_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

std::optional<MeasuredClock> measured_clock(const Origin& origin) {
  MeasuredClock clock;
  int found = 0;
  for (const auto& [name, value] : origin.metadata) {
    if (name == kReference) found += !(clock.reference = value).empty();
    if (name == kOffset) found += read_number(value, clock.offset_ns);
    if (name == kError) found += read_number(value, clock.error_ns);
  }
  if (found != 3) return std::nullopt;
  return clock;
}

void add_measured_clock(const std::string& path, const MeasuredClock& clock) {
  std::vector<std::pair<WriterId, Origin>> origins;
  {
    const Reader reader(path);
    for (const auto& [id, writer] : reader.writers()) origins.emplace_back(id, writer.origin);
  }
  Writer writer(path, Writer::Mode::Append);
  for (auto& [id, origin] : origins) {
    origin.metadata = {{std::string(kReference), clock.reference},
                       {std::string(kOffset), std::to_string(clock.offset_ns)},
                       {std::string(kError), std::to_string(clock.error_ns)}};
    writer.origin(id, origin);
  }
  writer.close();
}

uint64_t alignment_error(const Origin& origin) {
  uint64_t error_ns = 0;
  for (const auto& [name, value] : origin.metadata)
    if (name == kAlignmentError && read_number(value, error_ns)) return error_ns;
  return 0;
}

void add_alignment_error(Origin& origin, uint64_t error_ns) {
  const uint64_t sum = alignment_error(origin) + error_ns;  // it may have been merged before
  std::erase_if(origin.metadata, [](const auto& one) { return one.first == kAlignmentError; });
  origin.metadata.emplace_back(kAlignmentError, std::to_string(sum));
}

}  // namespace kymo::trace
