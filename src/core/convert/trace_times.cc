#include "convert/trace_times.h"

#include <algorithm>
#include <limits>

#include "kymo/error.h"
#include "trace/clock.h"

namespace kymo::convert {
namespace {

// Times in a forged file may have any value, so the arithmetic wraps.
int64_t wrapping_sum(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t wrapping_difference(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}

// A chunk without events has times if ranges begin in it that never end. They may begin at 0.
bool has_times(const trace::Reader& reader, const trace::EventChunk& chunk) {
  if (chunk.range_count + chunk.point_count != 0 || chunk.last != 0) return true;
  try {
    trace::EventBatch batch;
    reader.read(chunk, batch, trace::kOpenStacks);
    return !batch.closing.empty();
  } catch (const Error&) {
    return false;  // the command that reads its events reports it
  }
}

}  // namespace

bool on_one_boot(const trace::Reader& reader) {
  const auto& writers = reader.writers();
  return std::all_of(writers.begin(), writers.end(), [&](const auto& writer) {
    return writer.second.origin.boot_id == writers.begin()->second.origin.boot_id;
  });
}

TraceTimes::TraceTimes(const trace::Reader& reader)
    : first_ns_(std::numeric_limits<int64_t>::max()), last_ns_(std::numeric_limits<int64_t>::min()) {
  const bool monotonic = on_one_boot(reader);
  std::map<trace::WriterId, trace::TrackClocks> clocks;
  for (const auto& [id, writer] : reader.writers()) {
    clocks.emplace(id, trace::TrackClocks(writer));
    ahead_[id] = 0;
  }
  for (const trace::EventChunk& chunk : reader.event_chunks()) {
    const trace::ClockMap* clock = clocks.at(chunk.writer).find(chunk.track);
    if (clock == nullptr || !has_times(reader, chunk)) continue;
    const int64_t first = clock->to_monotonic_ns(chunk.first);
    if (!monotonic) ahead_[chunk.writer] = wrapping_difference(clock->to_realtime_ns(chunk.first), first);
    const int64_t ahead = ahead_[chunk.writer];
    first_ns_ = std::min(first_ns_, wrapping_sum(first, ahead));
    last_ns_ = std::max(last_ns_, wrapping_sum(clock->to_monotonic_ns(chunk.last), ahead));
  }
}

uint64_t TraceTimes::length_ns() const {
  return empty() ? 0 : static_cast<uint64_t>(last_ns_) - static_cast<uint64_t>(first_ns_);
}

std::map<trace::WriterId, trace::Window> TraceTimes::between(uint64_t from_ns, std::optional<uint64_t> to_ns) const {
  std::map<trace::WriterId, trace::Window> windows;
  for (const auto& [id, ahead] : ahead_) {
    const int64_t zero = wrapping_difference(first_ns_, ahead);
    const auto at = [zero](uint64_t ns, int64_t earliest) {
      return static_cast<uint64_t>(std::max(wrapping_sum(zero, static_cast<int64_t>(ns)), earliest));
    };
    windows[id] = {at(from_ns, 0), to_ns ? at(*to_ns, 1) : 0};  // an end at 0 would mean no end
  }
  return windows;
}

int64_t TraceTimes::offset_ns(const trace::WriterId& writer, int64_t monotonic_ns) const {
  const auto ahead = ahead_.find(writer);
  return wrapping_difference(wrapping_sum(monotonic_ns, ahead == ahead_.end() ? 0 : ahead->second), first_ns_);
}

}  // namespace kymo::convert
