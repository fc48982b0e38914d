// Walks the events of a trace, chunk by chunk in file order, with their tracks and times on one clock.
//
//   EventWalk walk(reader);
//   walk.each(trace::kRangeTimes | …, [](TrackOfTrace& track) { return track.on_device; },
//             [](TrackOfTrace& track, const trace::EventBatch& batch) { … });
//
// All cores decode; the callbacks run on the calling thread, in order. Damaged chunks are skipped, and are in
// problems().
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "trace/clock.h"
#include "trace/reader.h"

namespace kymo::analyze {

struct TrackOfTrace {
  uint32_t number = 0;  // in EventWalk::tracks()
  uint32_t writer_number = 0;
  const trace::WriterInfo* writer = nullptr;
  const trace::Track* track = nullptr;
  trace::ClockMap clock;
  bool on_device = false;

  int64_t ns(uint64_t ticks) const { return clock.to_monotonic_ns(ticks); }
  std::string name() const;  // "python3 thread main", "GPU 0 stream 7"
};

class EventWalk {
 public:
  // Merges the tracks of all writers. The reader must outlive it.
  explicit EventWalk(const trace::Reader& reader);

  using Visit = std::function<void(TrackOfTrace&, const trace::EventBatch&)>;
  // `parts` are those of trace::Part. Reads only the chunks of tracks that are `wanted`.
  void each(unsigned parts, const std::function<bool(const TrackOfTrace&)>& wanted, const Visit& visit);
  // The last chunk first.
  void each_backwards(unsigned parts, const std::function<bool(const TrackOfTrace&)>& wanted, const Visit& visit);

  std::deque<TrackOfTrace>& tracks() { return tracks_; }
  const std::deque<TrackOfTrace>& tracks() const { return tracks_; }
  const trace::Reader& reader() const { return reader_; }

  // What could not be read: the problems of the reader, and the damaged chunks that each() has found.
  std::vector<trace::Problem> problems() const;

  // The first and last time of an event of any track; both 0 if there is none.
  int64_t first_ns() const { return first_ns_; }
  int64_t last_ns() const { return last_ns_; }

 private:
  std::vector<trace::EventChunk> chunks_of(const std::function<bool(const TrackOfTrace&)>& wanted) const;
  void each(unsigned parts, const std::vector<trace::EventChunk>& chunks, const Visit& visit);

  const trace::Reader& reader_;
  std::deque<TrackOfTrace> tracks_;
  std::map<std::pair<trace::WriterId, uint32_t>, uint32_t> numbers_;
  std::map<uint64_t, trace::Problem> damaged_;  // by offset: a chunk may be read several times
  int64_t first_ns_ = 0, last_ns_ = 0;
};

}  // namespace kymo::analyze
