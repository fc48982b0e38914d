// What a reader sees of a trace whose writers state a window (model.h): the chunks that touch the window, with the
// counts and times of what is inside.
//
// Chunks inside the window are not read for this. Chunks that cross an edge are read once, and the points of those
// outside, because events inside may need them (window_cut.h). Uses memory for each chunk that is seen, and for the
// handles of ranges that end before the window or begin after it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "trace/clock.h"
#include "trace/reader.h"
#include "trace/window_cut.h"

namespace kymo::trace {

// The clocks of a writer's tracks, converted on first use.
class TrackClocks {
 public:
  explicit TrackClocks(const WriterInfo& writer) : writer_(&writer) {}
  // Null if the track is unknown or its clock cannot be converted.
  const ClockMap* find(uint32_t track);

 private:
  const WriterInfo* writer_;
  std::map<uint32_t, ClockMap> clocks_;
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
  // Chunks at an edge that cannot be read. Chunks without a clock are left out; untimed.h reports them.
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
