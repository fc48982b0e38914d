// What a reader sees of a trace whose writers state a window (model.h): the chunks that touch the window, with the
// counts and times of what is inside.
//
// Chunks inside the window are not read for this. Chunks that cross an edge are read once, and the points of those
// outside, because events inside may need them (the stacks and files of
// an allocation). Uses memory for each chunk that is seen, and for the
// handles of ranges that end before the window or begin after it.
//
// A range that crosses an edge is cut there, also a range that was started and ended by handle. Events outside are
// dropped. Events before the window that later events need are kept, at the start of the window. The times that a
// thread was on and off the processors are cut like ranges.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "trace/clock.h"
#include "trace/model.h"
#include "trace/reader.h"

namespace kymo::trace {

// Ticks from `begin` to `end`, without `end`. A range that crosses the end is cut at `end`, so that the parts of a
// range in two adjacent windows add up to its length.
struct TickSpan {
  uint64_t begin = 0, end = 0;
  bool holds(uint64_t tick) const { return tick >= begin && tick < end; }
  bool empty() const { return begin >= end; }
};

// The ticks of a clock inside a window. All events are between `lowest` and `highest`. The result is exact at both
// edges, wherever these events are.
TickSpan ticks_of_window(const ClockMap& clock, const Window& window, uint64_t lowest, uint64_t highest);

// What a range by handle does outside of the window. A handle without an entry does nothing there.
struct HandleOutside {
  bool begins_after = false, ends_before = false;
};
using HandlesOutside = std::unordered_map<uint64_t, HandleOutside, base::SeededHash>;

// How a chunk is cut.
struct ChunkCut {
  TickSpan span;
  bool first_of_ring = false;     // no range is open before it
  bool ends_open_ranges = false;  // it is the last of its ring: ranges that are open after it end with the window
  bool only_points = false;       // all of its ranges are outside
  // Of a sampler (docs/sampling.md), whose points state how long the thread was on and off the processors:
  uint64_t stated_until = 0;  // by the chunks before it
  double ns_per_tick = 1;
};

// Whether a loss may be inside the window of its writer. A loss whose time is not known may be.
bool is_inside(const Loss& loss, const Window& window, TrackClocks& clocks);

class WindowView {
 public:
  using Read = std::function<void(const EventChunk&, EventBatch&, unsigned parts)>;

  // `writers` must outlive the view. `read` reads chunks as they were recorded, and throws kymo::Error for damaged
  // ones. A damaged chunk at an edge is kept as it was recorded, and reading it reports the error.
  WindowView(const std::map<WriterId, WriterInfo>& writers, const std::vector<EventChunk>& recorded, const Read& read);

  const std::vector<EventChunk>& chunks() const { return chunks_; }
  // Chunks at an edge that cannot be read. Chunks without a clock are left out; untimed_events() reports them.
  const std::vector<Problem>& problems() const { return problems_; }

  // What cutting a chunk needs.
  struct Seen {
    uint64_t offset = 0;
    ChunkCut cut;
    bool all_inside = false;  // only its open ranges need cutting
    const HandlesOutside* handles = nullptr;
    const std::map<uint32_t, EventClass>* classes = nullptr;

    unsigned parts(unsigned wanted) const;  // to read for cut()
    // Cuts what was read, and leaves only the parts that are wanted.
    void apply(EventBatch& batch, unsigned wanted) const;
  };
  // Null: the chunk's writer states no window.
  const Seen* find(const EventChunk& chunk) const;

 private:
  class Builder;

  std::vector<EventChunk> chunks_;  // in file order
  std::vector<Seen> seen_;          // sorted by offset
  std::vector<Problem> problems_;
  std::map<WriterId, HandlesOutside> handles_;
};

}  // namespace kymo::trace
